"""Variants made ready to be timed: compiled, called for the first time, compared with eager, and brought to rest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .alternatives import Alternative
from .auditing import Program, max_abs_error
from .capture.copies import copy_inputs, kept_copy, own_tensors, put_back
from .capture.describe import tensors_in
from .capture.equality import difference
from .capture.held import Held, held
from .capture.preserve import Snapshot
from .capture.seam import unwrap
from .timing.clocks import clock_for
from .timing.kernels import kernels_of, peak_bytes_of
from .timing.rounds import Contender, settle

__all__ = ["Contenders", "Entry"]

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass
class Entry:
    """A variant on its way into the table."""

    name: str
    contender: Contender | None = None
    held: Held | None = None
    compile_s: float | None = None
    kernels: int | None = None
    peak_bytes: int | None = None
    unequal: str | None = None
    """How it differs from eager."""
    error: BaseException | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_repeatable(self) -> bool:
        """Whether a call leaves all as it was."""
        return self.contender is not None and not self.contender.singly


@dataclass
class _First:
    """What a first call gave and left behind."""

    output: Any
    inputs: Any
    state: list[torch.Tensor] | None
    """The program's own tensors, if it changed any."""
    gradients: Any = None


class Contenders:
    """Makes them ready, the eager one first: the others are compared with it."""

    def __init__(
        self, program: Program, state: Snapshot, stack: contextlib.ExitStack, *, backward: bool, budget_s: float,
        flush_l2: bool,
    ) -> None:  # fmt: skip
        self._program, self._state, self._stack = program, state, stack
        self._backward, self._budget_s = backward, budget_s
        self._own = own_tensors(state.tensors, program.args, program.kwargs)
        self._eager: _First | None = None
        self._common: Inputs | None = None
        self.is_slow = False
        """A call takes so long that only what must be called is called."""
        self.device = _device_of([*self._own, *tensors_in([list(program.args), program.kwargs])])
        self.clock = clock_for(self.device, flush_l2)

    def ready(self, one: Alternative, entry: Entry) -> None:
        """Fill the entry; what the variant raises goes into it, too."""
        try:
            self._make(entry, one)
            self._check(entry, one)
            self._rest(entry)
        except (Exception, SystemExit) as error:
            entry.error, entry.contender = error, None
            _free_memory(self.device)

    def _make(self, entry: Entry, one: Alternative) -> None:
        if one.options is None:
            around = _eagerly if one.name == "eager" else contextlib.nullcontext
            entry.contender = Contender(one.name, lambda: None, around)
            if one.name != "eager":
                entry.notes.append("called as it is, not compiled")
            return
        honoured: Callable[[Any], bool] = _none if one.name == "before" else self._program.honoured
        entry.held = self._stack.enter_context(held(one.fn, one.options, honoured))
        entry.contender = Contender(one.name, lambda: None, entry.held.around, entry.held.compiles)

    def _check(self, entry: Entry, one: Alternative) -> None:
        """Call it for the first time; then it is known how it is to be called again and again."""
        assert entry.contender is not None
        fn = entry.held.call if entry.held else unwrap(one.fn)
        begin = time.perf_counter()
        output, (args, kwargs) = self._called_once(entry.contender, fn, one)
        changed = [kept_copy(tensor) for tensor in self._own] if self._state.is_changed() else None
        first = _First(kept_copy(output), kept_copy([list(args), kwargs]), changed)
        if one.name == "eager":
            self._eager = first
            self.is_slow = time.perf_counter() - begin > self._budget_s / 4
        writes = difference(list(self._given(one)), first.inputs) is not None
        entry.contender.singly = writes or first.state is not None
        if writes:
            entry.notes.append("writes into its inputs, which are put back before each call")
        elif first.state is not None:
            entry.notes.append("changes state, which is put back before each call")
        entry.notes += _about(output, self._backward)
        inputs = self._fresh(one) if writes or one.args is not None else self._shared_inputs(one)
        entry.contender.call = self._step(fn, inputs)
        if entry.contender.singly:
            entry.contender.around = self._put_back_around(entry.contender.around, inputs, one)
        if self._backward:
            with entry.contender.around():
                first.gradients = kept_copy(list(entry.contender.call()))
        if self._eager is not None and one.name != "eager":
            entry.unequal = _unequal(self._eager, first, same_inputs=one.args is None)
        if not self.is_slow:
            again, _ = self._called_once(entry.contender, fn, one)
            if difference(first.output, kept_copy(again)) is not None:
                entry.notes.append("not deterministic: two calls gave different results")
        self._state.restore()

    def _called_once(self, contender: Contender, fn: Callable[..., Any], one: Alternative) -> tuple[Any, Inputs]:
        """What a call on fresh inputs gave, and these inputs."""
        with contender.around():
            args, kwargs = self._fresh(one)
            output = fn(*args, **kwargs)
            self.clock.drain()
        return output, (args, kwargs)

    def _rest(self, entry: Entry) -> None:
        assert entry.contender is not None
        if entry.held:
            entry.held.settle()
        if not self.is_slow:
            settle(entry.contender, self.clock, limit_s=self._budget_s / 2)
        if entry.held:
            entry.compile_s, entry.kernels = entry.held.recorder.compile_s, entry.held.kernels
            if entry.held.has_several_entries:
                entry.notes.append(f"compiled {entry.held.compiles()} times before it came to rest")
        if not self.is_slow:
            with entry.contender.around():
                names = kernels_of(entry.contender.call, self.device)
            with entry.contender.around():
                entry.peak_bytes = peak_bytes_of(entry.contender.call, self.device)
            entry.kernels = entry.kernels if names is None else len(names)

    # -- inputs ---------------------------------------------------------------------------------------------------

    def _given(self, one: Alternative) -> tuple[list[Any], dict[str, Any]]:
        return (list(self._program.args), self._program.kwargs) if one.args is None else (list(one.args), {})

    def _fresh(self, one: Alternative) -> Inputs:
        self._state.restore()
        args, kwargs = self._given(one)
        return copy_inputs(tuple(args), kwargs, self._own)

    def _shared_inputs(self, one: Alternative) -> Inputs:
        # where an input lies in memory would make one variant faster than its twin
        if self._common is None:
            self._common = self._fresh(one)
        return self._common

    def _put_back_around(
        self, around: Callable[[], contextlib.AbstractContextManager[Any]], inputs: Inputs, one: Alternative
    ) -> Callable[[], contextlib.AbstractContextManager[Any]]:
        own, given = tensors_in([list(inputs[0]), inputs[1]]), tensors_in(list(self._given(one)))

        @contextlib.contextmanager
        def put_back_first() -> Iterator[None]:
            self._state.restore()
            for tensor, content in zip(own, given, strict=True):
                if tensor is not content:
                    put_back(tensor, content.detach())
            with around():
                yield

        return put_back_first

    def _step(self, fn: Callable[..., Any], inputs: Inputs) -> Callable[[], Any]:
        args, kwargs = inputs
        if self._backward:
            wanted = [t for t in (*tensors_in([list(args), kwargs]), *self._own) if t.requires_grad]
            leaves = list({id(t): t for t in wanted if t.is_leaf}.values())
            return _with_backward(fn, args, kwargs, leaves or wanted)
        if not kwargs:
            return lambda: fn(*args)
        return lambda: fn(*args, **kwargs)


def _with_backward(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wanted: list[torch.Tensor]
) -> Callable[[], Any]:
    seeds: list[torch.Tensor] = []

    def step() -> Any:
        # autograd.grad and not backward(): gradients must not pile up in .grad
        output = fn(*args, **kwargs)
        outputs = [output] if isinstance(output, torch.Tensor) else tensors_in(output)
        outputs = [tensor for tensor in outputs if tensor.requires_grad]
        if not outputs or not wanted:
            why = "" if torch.is_grad_enabled() else ": the report was made while gradients were off"
            raise ValueError(f"backward=True, but no output or no input requires a gradient{why}")
        if not seeds:
            seeds.extend(map(torch.ones_like, outputs))
        return torch.autograd.grad(outputs, wanted, seeds, allow_unused=True)

    return step


@contextlib.contextmanager
def _eagerly() -> Iterator[None]:
    with torch.compiler.set_stance("force_eager"):
        yield


def _none(fn: Any) -> bool:
    return False


def _unequal(eager: _First, first: _First, same_inputs: bool) -> str | None:
    found = difference(eager.output, first.output)
    if found:
        error = max_abs_error(eager.output, first.output)
        return f"differs by up to {error:.3g}" if error else found
    if same_inputs and (found := difference(eager.inputs, first.inputs)):
        return f"writes something else into its inputs: {found}"
    if (eager.state is None) != (first.state is None):
        return "it does not change the state that eager changes" if eager.state else "it changes state, eager does not"
    if eager.state and first.state and (found := difference(eager.state, first.state)):
        return f"changes state in another way: {found}"
    if same_inputs and (found := difference(eager.gradients, first.gradients)):
        return f"other gradients: {found}"
    return None


def _about(output: Any, backward: bool) -> Iterator[str]:
    if output is None:
        yield "returns nothing"
    tensors = [t for t in tensors_in(output) if t.layout is torch.strided and t.device.type != "meta"]
    if any(t.is_floating_point() and not t.is_nested and bool(t.isnan().any()) for t in tensors):
        yield "gives NaN"
    if not backward and any(t.requires_grad for t in tensors):
        yield "forward only, with autograd's record of it"


def _device_of(tensors: list[torch.Tensor]) -> torch.device:
    found = [tensor.device for tensor in tensors if tensor.device.type not in ("cpu", "meta")]
    return found[0] if found else torch.device("cpu")


def _free_memory(device: torch.device) -> None:
    if device.type != "cpu":
        with contextlib.suppress(RuntimeError, NotImplementedError):
            torch.accelerator.empty_cache()
