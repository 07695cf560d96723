"""Compiled code that is held for many calls: what times it must call it as plainly as a user does."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from .events import Frame
from .record import Recorder
from .seam import (
    CompileOptions,
    compiled_graph_names,
    dynamo_state_kept,
    generated_kernels,
    isolated,
    leave_alone,
    nested_compiles_run_as,
    observing,
)
from .variants import forgotten

__all__ = ["Held", "held"]


class Held:
    """A function compiled beside the user's own compiled code.  ``call`` is as fast as what torch.compile returns."""

    def __init__(self, recorder: Recorder, call: Callable[..., Any], callback: Any) -> None:
        self.recorder = recorder
        self.call = call
        self._callback = callback
        self._kernels = generated_kernels()
        self._nested: bool | None = None
        self._graphs: list[tuple[dict[str, Any], str]] = []
        self.kernels: int | None = None
        """Kernels that Inductor generated for it; None for another backend."""

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """What a call needs around it.  Once settled, nothing, unless it calls compiled functions itself."""
        if self._nested is False:
            yield
            return
        with nested_compiles_run_as(self._callback) as others:
            yield
        if self._nested is None and others:
            self._nested = True

    def compiles(self) -> int:
        """How many frames were compiled so far."""
        return len(self.recorder.frames)

    @property
    def has_several_entries(self) -> bool:
        """Whether some code was compiled more than once, so that guards have to choose."""
        codes = [frame.code for frame in self.recorder.frames if frame.compiled]
        return len(codes) != len(set(codes))

    def settle(self) -> None:
        """It is compiled.  Call this before anything else is."""
        self._nested = bool(self._nested)
        added = ((space, name) for space, names in self.recorder.leaked_names() for name in compiled_graph_names(names))
        self._graphs = list({(id(space), name): (space, name) for space, name in added}.values())
        made = generated_kernels() - self._kernels
        self.kernels = made if self.recorder.backend.__name__ == "inductor" else None

    @contextlib.contextmanager
    def clocked_graphs(self, spent: list[float]) -> Iterator[None]:
        """Add to ``spent[0]`` the microseconds that pass inside of its compiled graphs."""
        before = [(space, name, space[name]) for space, name in self._graphs if name in space]
        for space, name, graph in before:
            space[name] = _clocked(graph, spent)
        try:
            yield
        finally:
            for space, name, graph in before:
                space[name] = graph


@contextlib.contextmanager
def held(fn: Any, options: CompileOptions, honoured: Callable[[Any], bool]) -> Iterator[Held]:
    """``fn`` compiled with the marks for which ``honoured`` is true, until the end of the context.

    Several may be open at once, if they are closed in the opposite order.
    """
    recorder = Recorder(honoured, options.backend, options.name)
    with dynamo_state_kept(), forgotten(recorder):
        compiled, callback = isolated(fn, recorder.backend, options, _WhileTracing(recorder))
        yield Held(recorder, compiled, callback)


class _WhileTracing:
    """Watches Dynamo only while it traces, be it again later: a call of finished code meets nothing of ours."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._tracing = False

    @contextlib.contextmanager
    def frame(self, *names: Any) -> Iterator[Frame]:
        with contextlib.ExitStack() as stack:
            outermost = not self._tracing
            if outermost:
                stack.enter_context(observing(self._recorder))
                self._tracing = True
            try:
                yield stack.enter_context(self._recorder.frame(*names))
            finally:
                if outermost:
                    self._tracing = False


def _clocked(graph: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        start = time.perf_counter_ns()
        result = graph(*args)
        spent[0] += (time.perf_counter_ns() - start) / 1e3
        return result

    leave_alone(run)
    return run
