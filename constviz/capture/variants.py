"""Running one variant: eagerly, or compiled beside the user's own compiled code, and leaving no trace of it."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..model import Failure, Location, SkippedFrame, Variant
from .copies import kept_copy
from .describe import code_name, describe, tensors_in
from .events import Frame
from .record import Recorder
from .seam import (
    CompileOptions,
    dynamo_state_kept,
    forget_code,
    is_alias,
    isolated,
    nested_compiles_run_as,
    observing,
    release_names,
    unwrap,
)

__all__ = ["compiled_beside", "forgotten", "quiet", "run_compiled", "run_eager"]

_TORCH = os.path.dirname(os.path.realpath(torch.__file__))
_HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def run_eager(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant:
    """Call ``fn`` without compiling anything, not even compiled functions that it calls.

    Raises:
        Exception: whatever the user's own function raises.
    """
    with quiet(), torch.compiler.set_stance("force_eager"):
        output = unwrap(fn)(*args, **kwargs)
    return Variant(
        "eager",
        result=describe(output),
        needs_grad=_needs_grad(output),
        aliases=_aliases(output, (args, kwargs)),
        output=kept_copy(output),
    )


@contextlib.contextmanager
def compiled_beside(
    fn: Any, options: CompileOptions, honoured: Callable[[Any], bool]
) -> Iterator[tuple[Recorder, Callable[[tuple[Any, ...], dict[str, Any]], Any]]]:
    """``fn`` compiled beside the user's own compiled code: what was recorded so far, and a way to call it.

    The compiled code lives until the end of the context, as a user's lives until a reset; then it is forgotten.
    """
    recorder = Recorder(honoured, options.backend, options.name)
    with dynamo_state_kept(), forgotten(recorder), observing(recorder):
        compiled, callback = isolated(fn, recorder.backend, options, recorder)

        def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            with quiet(), nested_compiles_run_as(callback):
                return compiled(*args, **kwargs)

        yield recorder, call


def run_compiled(
    name: str,
    fn: Any,
    inputs: tuple[tuple[Any, ...], dict[str, Any]],
    options: CompileOptions,
    honoured: Callable[[Any], bool],
    then: Callable[[Recorder, Callable[..., Any], Any], None] | None = None,
) -> tuple[Variant, Recorder]:
    """Compile and call ``fn`` once, honouring the marks for which ``honoured`` is true.

    A failure of the compiled program is a result: ``Variant.error``.  Interrupts pass through.  The recorder holds
    what the folds of the variant are made from; the variant itself has none yet.

    Args:
        then: called after a call that did not fail, while the compiled code lives, with the recorder, the way to
            call it, and what the call returned.
    """
    output, failure, result, kept = None, None, None, None
    with compiled_beside(fn, options, honoured) as (recorder, call):
        try:
            output = call(*inputs)
        except Exception as error:
            failure = _failure(error)
            recorder.error = error
        else:
            result, kept = describe(output), kept_copy(output)
            if then is not None:
                then(recorder, call, output)
    variant = Variant(
        name,
        graphs=tuple(recorder.graphs),
        graph_breaks=tuple(dict.fromkeys(recorder.breaks)),
        guards=recorder.kept_guards,
        skipped=tuple(_skipped(recorder)),
        compile_s=recorder.compile_s,
        error=failure,
        result=result,
        needs_grad=_needs_grad(output),
        aliases=_aliases(output, inputs),
        output=kept,
    )
    return variant, recorder


@contextlib.contextmanager
def forgotten(recorder: Recorder) -> Iterator[None]:
    """Take back what Dynamo keeps outside the graphs: cache entries on code objects, names in module globals."""
    try:
        yield
    finally:
        for frame in recorder.frames:
            if not _is_torchs(frame.code.co_filename):
                forget_code(
                    frame.code,
                    recorder.backend,
                    had_entries=frame.had_entries,
                    skipped=not frame.compiled,
                )
        for namespace, names in recorder.leaked_names():
            release_names(namespace, names)
        recorder.release()


class _Nowhere(io.TextIOBase):
    """Keeps nothing: a program that is called a thousand times may print each time."""

    def write(self, text: str) -> int:
        return len(text)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Neither prints nor warnings reach the user."""
    # what the user's code prints and what torch warns of belong to the user's own call
    level = logging.root.manager.disable
    logging.disable(max(level, logging.ERROR))  # torch logs failures that the report tells
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(_Nowhere()),
            contextlib.redirect_stderr(_Nowhere()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _skipped(recorder: Recorder) -> Iterator[SkippedFrame]:
    seen = set()
    for frame in recorder.frames:
        if frame.compiled or frame.error is not None or _is_torchs(frame.code.co_filename) or frame.code in seen:
            continue
        seen.add(frame.code)
        yield SkippedFrame(code_name(frame.code), _skip_reason(frame), frame.location)


def _skip_reason(frame: Frame) -> str:
    # Dynamo only says that "an error was suppressed"; which one it was is what a reader wants to know
    reason = frame.unsupported or frame.skip_reason
    first = next((line.strip() for line in reason.splitlines() if line.strip()), "")
    return first or "it has no operation that Dynamo could put into a graph"


def _failure(error: BaseException) -> Failure:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    place = None
    if frames:
        last = frames[-1]
        place = Location(last.filename, last.lineno or 0, last.name, (last.line or "").strip())
    return Failure(type(error).__name__, str(error), place)


def _is_torchs(file: str) -> bool:
    return os.path.realpath(file).startswith(_TORCH + os.sep)


def _is_ours(file: str) -> bool:
    return file.startswith("<") or _is_torchs(file) or os.path.realpath(file).startswith(_HERE + os.sep)


def _aliases(output: Any, inputs: tuple[tuple[Any, ...], dict[str, Any]]) -> tuple[tuple[int, int], ...]:
    given = list(enumerate(tensors_in([list(inputs[0]), inputs[1]])))
    return tuple((i, j) for i, one in enumerate(tensors_in(output)) for j, other in given if is_alias(one, other))


def _needs_grad(output: Any) -> bool:
    return any(tensor.requires_grad for tensor in tensors_in(output))
