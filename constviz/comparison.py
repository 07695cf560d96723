"""compare(): run the variants of one call, put everything back, and assemble the report.

Not named after its function: an import of ``constviz.compare`` would put the module in the function's place.
"""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from .auditing import Program
from .capture.again import Again, run_again
from .capture.assumptions import dropped_guards
from .capture.copies import InputTooLargeError, copy_inputs, own_tensors
from .capture.describe import called_function, function_name
from .capture.equality import not_compared
from .capture.events import definition_of
from .capture.evidence import FirstCall, judged
from .capture.identities import dropped_identities
from .capture.leads import leads
from .capture.live import LiveCapture, comparing
from .capture.modes import ambient_modes, under
from .capture.outcomes import with_folds
from .capture.preserve import Snapshot, kept
from .capture.record import Recorder
from .capture.seam import CompiledCall, CompileOptions, compiled_parts, has_cache_entries, options_for, unwrap
from .capture.variants import run_compiled, run_eager
from .model import Comparison, Mark, Outcome, Variant
from .naming import goes_by, unknown_names

if TYPE_CHECKING:
    from .report import FoldReport

__all__ = ["InputTooLargeError", "Pending", "compare", "compare_again", "compare_call", "prepare"]


def compare(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    fold: Iterable[str] | None = None,
    probe: bool = True,
    **torch_compile_options: Any,
) -> FoldReport:
    """Trace one call of ``fn`` with its marks ignored and with its marks honoured, and report the difference.

    The call is run three times: eagerly, as ``before`` and as ``after``.  The program is as it was afterwards:
    inputs, module state, gradients, random numbers, marks, compiled code; also after an exception or an interrupt.

    Args:
        fn: a function, method or module, compiled by ``torch.compile`` or not.
        args: positional arguments of the call.  The variants get copies of the tensors in it.
        kwargs: keyword arguments of the call.
        fold: names of the marked functions to fold; the others are ignored.  Default: all.  A name is ``scale``,
            ``Net.scale`` or ``pkg.net.Net.scale``, or with its line, for one of several, ``scale@net.py:7``.
            A name that no marked function of the call has is warned of.
        probe: ask each folded function again, with the same and with changed tensor arguments; False if it has side
            effects that must not happen again.
        torch_compile_options: ``backend``, ``mode``, ``options``, ``dynamic``, ``fullgraph``.  Default: those of
            ``fn`` if it is compiled, else those of ``torch.compile``.

    Raises:
        TypeError: ``fn`` is not callable, or does not take these arguments.
        InputTooLargeError: an input does not fit into memory a second time.
        Exception: whatever the function itself raises when it is run eagerly.
    """
    report = compare_call(fn, args, kwargs, fold=fold, probe=probe, **torch_compile_options)
    for sentence in unknown_names(report.comparison.fold or (), report.comparison.marks):
        warnings.warn(sentence, UserWarning, stacklevel=2)
    return report


def compare_call(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    fold: Iterable[str] | None = None,
    probe: bool = True,
    **torch_compile_options: Any,
) -> FoldReport:
    """:func:`compare` for those who tell of unknown names in a way of their own."""
    target, options = _resolve(fn, torch_compile_options)
    call_kwargs = dict(kwargs or {})
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple of the call's arguments, not {type(args).__name__}; write args=(x,)")
    _check_arguments(target, tuple(args), call_kwargs)
    with comparing(), kept(target, args, call_kwargs) as before:
        return _run(target, tuple(args), call_kwargs, options, before, fold, _is_warm(target), probe)


def compare_again(program: Program, fold: Iterable[str], tell: Callable[[str], None]) -> FoldReport:
    """What a report was made of, compared with other marks.  ``tell`` hears of each step, and may raise to stop it."""
    with under(program.modes), comparing(), kept(program.target, program.args, program.kwargs) as before:
        call = (program.target, program.args, program.kwargs, program.options, before)
        return _run(*call, fold, warm=False, probe=program.probe, tell=tell)


def prepare(call: CompiledCall) -> Pending:
    """Remember a call that is about to run, to be compared later."""
    snapshot = Snapshot(call.fn, call.args, call.kwargs)
    args, kwargs = copy_inputs(call.args, call.kwargs, own_tensors(snapshot.tensors, call.args, call.kwargs))
    own = (call.args, call.kwargs)
    return Pending(call.name, call.fn, args, kwargs, own, call.options, snapshot, _is_warm(call.fn), ambient_modes())


@dataclass(frozen=True)
class Pending:
    """A call as it was before it ran: the function, copies of its inputs, and the state it could reach."""

    name: str
    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    own_inputs: tuple[tuple[Any, ...], dict[str, Any]]
    """The inputs themselves, in which the call may have written since."""
    options: CompileOptions
    state: Snapshot
    warm: bool
    """Whether the function had been compiled before this call."""
    modes: Any = None
    """Grad mode and autocast, as the call had them."""

    def run(self, fold: Iterable[str] | None = None, backend: Any = None, probe: bool = True) -> FoldReport:
        """Compare on that state, then put back the present one.  Raises as :func:`compare` does."""
        options = self.options
        if backend is not None:
            options = replace(options_for(backend=backend), fullgraph=options.fullgraph, dynamic=options.dynamic)
        with under(self.modes), comparing(), kept(self.fn, self.args, self.kwargs, self.own_inputs):
            self.state.restore()
            return _run(self.fn, self.args, self.kwargs, options, self.state, fold, self.warm, probe)


def _run(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: CompileOptions,
    state: Snapshot,
    fold: Iterable[str] | None,
    warm: bool,
    probe: bool,
    tell: Callable[[str], None] = lambda step: None,
) -> FoldReport:
    from .report import FoldReport

    chosen = None if fold is None else tuple([fold] if isinstance(fold, str) else fold)
    shared = own_tensors(state.tensors, args, kwargs)

    def inputs() -> tuple[tuple[Any, ...], dict[str, Any]]:
        state.restore()
        return copy_inputs(args, kwargs, shared)

    tell("running it eagerly…")
    eager_inputs = inputs()
    eager = run_eager(target, *eager_inputs)
    tell("compiling without the marks…")
    before, saw_before = run_compiled("before", target, inputs(), options, lambda fn: False)
    tell("compiling with the marks…")
    after_inputs = inputs()
    later: list[Again] = []

    def again(recorder: Recorder, call: Callable[..., Any], output: Any) -> None:
        later.append(run_again(recorder, call, output, eager.output, inputs))

    after, saw_after = run_compiled("after", target, after_inputs, options, lambda fn: _is_chosen(fn, chosen), again)
    after = with_folds(after, saw_after, target)
    state.restore()
    tell("asking the folded functions again…")
    assumptions = dropped_guards(saw_before, saw_after, target)
    assumptions += dropped_identities(saw_before, saw_after, target, assumptions)
    first = FirstCall(eager, eager_inputs, before, after, after_inputs, *later)
    after = judged(after, saw_before, saw_after, assumptions, first, state, options, probe)
    live = LiveCapture(function_name(target), target, assumptions, saw_after)
    marks = _marks(saw_before, saw_after, chosen)
    unsaid = None if after.error else not_compared(eager.output, after.output)
    return FoldReport(
        Comparison(
            function=function_name(target) if not isinstance(target, torch.nn.Module) else type(target).__name__,
            variants={v.name: v for v in (eager, before, after)},
            location=definition_of(called_function(target)),
            options=options.as_text(),
            fold=chosen,
            marks=marks,
            assumptions=(*live.read(), *leads(saw_before, saw_after, assumptions)),
            notes=(
                *_notes(before, after, saw_after, marks, chosen, warm),
                *([f"Not compared with eager: {unsaid}."] if unsaid else []),
            ),
            torch=str(torch.__version__),
        ),
        live,
        Program(target, *inputs(), options, lambda fn: _is_chosen(fn, chosen), ambient_modes(), probe),
    )


# -- what is to be compared --------------------------------------------------------------------------------------


def _resolve(fn: Any, torch_compile_options: dict[str, Any]) -> tuple[Any, CompileOptions]:
    if not callable(fn):
        raise TypeError(f"compare needs a function or module to call, not {type(fn).__name__}")
    parts = compiled_parts(fn)
    target = parts[0] if parts else unwrap(fn)
    if parts and not torch_compile_options:
        return target, parts[1]
    return target, options_for(**torch_compile_options)


def _check_arguments(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    function = called_function(target)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins have none
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function_name(function)}{signature} does not take these arguments: {error}") from None


def _is_warm(target: Any) -> bool:
    function = called_function(target)
    code = getattr(function, "__code__", None)
    return isinstance(code, types.CodeType) and has_cache_entries(code)


# -- marks and notes ---------------------------------------------------------------------------------------------


def _is_chosen(fn: Any, chosen: tuple[str, ...] | None) -> bool:
    if chosen is None:
        return True
    return bool(goes_by(_mark(fn)) & set(chosen))


def _mark(fn: Any, chosen: tuple[str, ...] | None = None) -> Mark:
    mark = Mark(function_name(fn), definition_of(fn), module=str(getattr(fn, "__module__", None) or ""))
    return mark if chosen is None else replace(mark, selected=bool(goes_by(mark) & set(chosen)))


def _marks(before: Recorder, after: Recorder, chosen: tuple[str, ...] | None) -> tuple[Mark, ...]:
    functions = {**before.marked, **after.marked}
    return tuple(_mark(fn, chosen) for fn in functions.values())


def _notes(
    before: Variant, after: Variant, saw: Recorder, marks: tuple[Mark, ...], chosen: tuple[str, ...] | None, warm: bool
) -> Iterable[str]:
    if warm:
        yield "The function had been compiled before: before and after are traces of our own, beside its own code."
    yield from unknown_names(chosen or (), marks)
    if before.error and not after.error:
        yield f"Without the marks the program does not compile: {before.error.summary}"
    if after.error and not before.error:
        yield f"With the marks the program fails: {after.error.summary}"
    if any(f.outcome is Outcome.FOLDED for f in after.folds):
        return
    if not saw.frames:
        yield "Nothing was traced: Dynamo is disabled, or it leaves this function to plain Python."
    elif not after.folds and not after.graphs and after.skipped:
        left = after.skipped[0]
        yield f"Nothing was folded: Dynamo left {left.function} to plain Python ({left.reason})."
    elif not after.folds:
        ignored = [m.function for m in marks if not m.selected]
        yield (
            f"Nothing was folded: the marks of {', '.join(ignored)} were left out by fold."
            if ignored
            else "Nothing was folded: no marked function was called."
        )
    else:
        outcomes = ", ".join(sorted({str(f.outcome) for f in after.folds}))
        yield f"Nothing was folded; see the reason of each call ({outcomes})."
