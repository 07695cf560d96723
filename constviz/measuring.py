"""The variants of a program timed against each other: made ready, checked against eager, then interleaved."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from .alternatives import Against, Alternative, alternatives
from .auditing import Program, max_abs_error
from .capture.copies import copy_inputs, kept_copy
from .capture.describe import tensors_in
from .capture.equality import difference
from .capture.held import Held, held
from .capture.modes import under
from .capture.preserve import Snapshot, kept
from .capture.seam import unwrap
from .capture.variants import quiet
from .model import Timing
from .timing.clocks import Clock, clock_for
from .timing.kernels import kernels_of, peak_bytes_of
from .timing.parts import parts_of
from .timing.rounds import Contender, Run, interleave, settle
from .timing.statistics import Estimate, estimate, verdict

__all__ = ["Settings", "measure"]

_FOR_ROUNDS = 0.8
"""Part of the budget that the rounds may take; the rest tells where the time goes."""
_LEAST_INSIDE_S = 0.1
"""For each variant: with less, the interval of its guards says more of the moment than of them."""


@dataclass(frozen=True)
class Settings:
    """How to measure.  See :meth:`constviz.FoldReport.timings`."""

    against: Against | None = None
    backward: bool = False
    budget_s: float = 2.0
    precision: float = 0.005
    flush_l2: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("budget_s", "precision", "seed"):
            value: Any = getattr(self, name)
            needed = "__index__" if name == "seed" else "__float__"
            if isinstance(value, bool) or not hasattr(value, needed):
                raise TypeError(f"{name} must be a number, not {type(value).__name__}")
            if not 0 <= float(value) < math.inf:  # nor is a NaN
                raise ValueError(f"{name} must be finite and at least 0, not {value}")


@dataclass
class _Entry:
    """A variant on its way into the table."""

    name: str
    contender: Contender | None = None
    held: Held | None = None
    compile_s: float | None = None
    kernels: int | None = None
    peak_bytes: int | None = None
    unequal: str | None = None
    error: BaseException | None = None
    notes: list[str] = field(default_factory=list)


def measure(program: Program, settings: Settings, size: str = "") -> tuple[list[Timing], Run]:
    """Time the variants of one call.  The program's state is put back, also after an interrupt, which ends it early.

    Returns one row a variant, and what was measured.  A variant that fails has a row that says so.

    Raises:
        TypeError: something to compare against cannot be called.
    """
    others = alternatives(settings.against, program.options)
    roots = (program.target, program.args, program.kwargs, [(other.fn, other.args) for other in others])
    with contextlib.ExitStack() as stack:
        stack.enter_context(under(program.modes))
        stack.enter_context(quiet())
        state = stack.enter_context(kept(*roots))
        stage = _Stage(program, settings, state, stack)
        run = stage.run(others)
        return [stage.row(entry, run, size) for entry in stage.entries], run


class _Stage:
    """Where the contenders stand ready, from first to last."""

    def __init__(self, program: Program, settings: Settings, state: Snapshot, stack: contextlib.ExitStack) -> None:
        self._program, self._settings, self._state, self._stack = program, settings, state, stack
        given = {id(tensor) for tensor in tensors_in([list(program.args), program.kwargs])}
        self._shared = [tensor for tensor in state.tensors if id(tensor) not in given]
        self._expected: Any = None
        self._is_slow = False
        self._device = _device_of([*self._shared, *tensors_in([list(program.args), program.kwargs])])
        self._clock: Clock = clock_for(self._device, settings.flush_l2)
        self._parts: dict[str, tuple[Estimate | None, float, float]] = {}
        self.entries: list[_Entry] = []

    def run(self, others: list[Alternative]) -> Run:
        """Make all ready, and time them."""
        program = self._program
        waiting = [Alternative("eager", program.target), Alternative("before", program.target, None, program.options)]
        waiting += [Alternative("after", program.target, None, program.options), *others]
        self.entries = [_Entry(one.name) for one in waiting]
        try:
            for entry, one in zip(self.entries, waiting, strict=True):
                self._prepare(entry, one)
        except KeyboardInterrupt:
            return Run(stopped="interrupted")
        ready = [entry.contender for entry in self.entries if entry.contender is not None]
        baseline = "before" if any(c.name == "before" for c in ready) else "eager"
        budget = self._settings.budget_s
        limits = {"budget_s": budget * _FOR_ROUNDS, "precision": self._settings.precision}
        run = interleave(ready, self._clock, baseline, seed=int(self._settings.seed), **limits)
        if run.stopped != "interrupted" and not self._is_slow:
            with contextlib.suppress(KeyboardInterrupt):
                self._look_inside(run, budget * (1 - _FOR_ROUNDS))
        return run

    # -- making ready ---------------------------------------------------------------------------------------------

    def _prepare(self, entry: _Entry, one: Alternative) -> None:
        try:
            self._make(entry, one)
            self._check(entry, one)
            if entry.contender is not None and not self._is_slow:
                with entry.contender.around():
                    names = kernels_of(entry.contender.call, self._device)
                    entry.peak_bytes = peak_bytes_of(entry.contender.call, self._device)
                if names is not None:
                    entry.kernels = len(names)
        except Exception as error:
            entry.error, entry.contender = error, None
            _free_memory(self._device)

    def _make(self, entry: _Entry, one: Alternative) -> None:
        if one.options is None:
            around = _eagerly if one.name == "eager" else contextlib.nullcontext
            entry.contender = Contender(one.name, self._step(unwrap(one.fn), one), around)
            return
        honoured: Callable[[Any], bool] = self._program.honoured
        if one.name == "before":
            honoured = _none
        entry.held = self._stack.enter_context(held(one.fn, one.options, honoured))
        call = self._step(entry.held.call, one)
        entry.contender = Contender(one.name, call, entry.held.around, entry.held.compiles)

    def _check(self, entry: _Entry, one: Alternative) -> None:
        """Call it for the first time, compare with eager, and let it come to rest."""
        fn = entry.held.call if entry.held else unwrap(one.fn)
        assert entry.contender is not None
        with entry.contender.around():
            inputs = self._inputs(one)
            begin = time.perf_counter()
            output = fn(*inputs[0], **inputs[1])
            self._clock.drain()
            taken = time.perf_counter() - begin
        first = kept_copy(output)
        if one.name == "eager":
            self._expected = first
            self._is_slow = taken > self._settings.budget_s / 4
        else:
            entry.unequal = _unequal(self._expected, first)
        entry.notes += _about(output, self._settings.backward)
        if difference([*self._inputs_given(one)], [list(inputs[0]), inputs[1]]) is not None:
            entry.notes.append("writes into its inputs: each call finds what the last one left")
        elif self._state.is_changed():
            entry.notes.append("changes state, which is put back at the end")
        del output
        if not self._is_slow:
            with entry.contender.around():
                inputs = self._inputs(one)
                if difference(first, kept_copy(fn(*inputs[0], **inputs[1]))) is not None:
                    entry.notes.append("not deterministic: two calls gave different results")
        self._state.restore()
        if entry.held:
            entry.held.settle()
        if not self._is_slow:
            settle(entry.contender, self._clock, limit_s=self._settings.budget_s / 2)
        if entry.held and entry.held.has_several_entries:
            entry.notes.append(f"compiled {entry.held.compiles()} times before it came to rest")
        if entry.held:
            entry.compile_s, entry.kernels = entry.held.recorder.compile_s, entry.held.kernels

    def _inputs(self, one: Alternative) -> tuple[tuple[Any, ...], dict[str, Any]]:
        self._state.restore()
        args, kwargs = (self._program.args, self._program.kwargs) if one.args is None else (one.args, {})
        return copy_inputs(args, kwargs, self._shared)

    def _inputs_given(self, one: Alternative) -> tuple[list[Any], dict[str, Any]]:
        return (list(self._program.args), self._program.kwargs) if one.args is None else (list(one.args), {})

    def _step(self, fn: Callable[..., Any], one: Alternative) -> Callable[[], Any]:
        """One call, on inputs of its own; forward and backward if so asked."""
        args, kwargs = self._inputs(one)
        if self._settings.backward:
            state = [t for t in self._shared if t.requires_grad and t.is_leaf]
            own = [t for t in tensors_in([list(args), kwargs]) if t.requires_grad]
            return _with_backward(fn, args, kwargs, list({id(t): t for t in (*own, *state)}.values()))
        if not kwargs:
            return lambda: fn(*args)
        return lambda: fn(*args, **kwargs)

    # -- the table ------------------------------------------------------------------------------------------------

    def _look_inside(self, run: Run, budget_s: float) -> None:
        compiled = [e for e in self.entries if e.held and e.contender and e.name in run.calls]
        for entry in compiled:
            if entry.name not in run.errors and entry.held and entry.contender:
                with contextlib.suppress(Exception):  # it was timed: this is a bonus
                    self._parts[entry.name] = parts_of(
                        entry.contender,
                        self._clock,
                        run.calls[entry.name],
                        without_guards=None if entry.held.has_several_entries else _without_guards,
                        clocked=entry.held.clocked_graphs,
                        budget_s=max(budget_s / len(compiled), _LEAST_INSIDE_S),
                    )

    def row(self, entry: _Entry, run: Run, size: str) -> Timing:
        """What is known of one variant."""
        row = Timing(entry.name, self._clock.device, size, compile_s=entry.compile_s, note="; ".join(entry.notes))
        error = entry.error or run.errors.get(entry.name)
        if error is not None:
            return replace(row, result="failed", note="; ".join([_summary(error), *entry.notes]))
        samples = run.device_us.get(entry.name)
        if samples is None or not len(samples):
            return replace(row, note="; ".join([*entry.notes, f"not timed: {run.stopped or 'nothing was measured'}"]))
        seed = int(self._settings.seed)
        own = estimate(samples, seed)
        guards, graphs, python = self._parts.get(entry.name, (None, None, None))
        row = replace(
            row,
            **_interval("median_us", "low_us", "high_us", own),
            host_us=float(np.median(run.host_us[entry.name])),
            kernels=entry.kernels,
            peak_bytes=entry.peak_bytes,
            **(_interval("guards_us", "guards_low_us", "guards_high_us", guards) if guards else {}),
            graphs_us=graphs,
            python_us=python,
        )
        notes = [*entry.notes]
        if run.discarded.get(entry.name):
            notes.append(f"compiled anew in {run.discarded[entry.name]} rounds, which are not counted")
        if len(samples) < 3:
            notes.append("a call takes longer than the budget: timed once" if len(samples) == 1 else "timed twice")
        if run.stopped == "interrupted":
            notes.append("interrupted")
        row = replace(row, note="; ".join(notes))
        if entry.unequal:
            return replace(row, result="not equal", note="; ".join([f"not what eager gives: {entry.unequal}", *notes]))
        if entry.name == "before":
            return replace(row, speedup=1.0, speedup_low=1.0, speedup_high=1.0, result="no difference")
        baseline = next((e for e in self.entries if e.name == "before"), None)
        if baseline is None or "before" not in run.device_us or baseline.unequal or "before" in run.errors:
            return replace(row, note="; ".join([*notes, "nothing to compare with: see the row of before"]))
        ratio = estimate(run.ratio(entry.name, "before"), seed)
        return replace(row, **_interval("speedup", "speedup_low", "speedup_high", ratio), result=verdict(ratio))


def _interval(middle: str, low: str, high: str, found: Estimate) -> dict[str, Any]:
    if not np.isfinite(found.high):  # one sample has none
        return {middle: found.median}
    return {middle: found.median, low: found.low, high: found.high}


def _with_backward(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[torch.Tensor]
) -> Callable[[], Any]:
    seeds: list[torch.Tensor] = []

    def step() -> Any:
        # autograd.grad and not backward(): gradients must not pile up in .grad
        output = fn(*args, **kwargs)
        outputs = [output] if isinstance(output, torch.Tensor) else tensors_in(output)
        outputs = [tensor for tensor in outputs if tensor.requires_grad]
        if not outputs or not leaves:
            raise ValueError("backward=True, but no output or no input requires a gradient")
        if not seeds:
            seeds.extend(map(torch.ones_like, outputs))
        return torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)

    return step


@contextlib.contextmanager
def _eagerly() -> Iterator[None]:
    with torch.compiler.set_stance("force_eager"):
        yield


@contextlib.contextmanager
def _without_guards() -> Iterator[None]:
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        yield


def _unequal(expected: Any, actual: Any) -> str | None:
    found = difference(expected, actual)
    error = max_abs_error(expected, actual) if found else None
    return f"differs by up to {error:.3g}" if found and error else found


def _none(fn: Any) -> bool:
    return False


def _about(output: Any, backward: bool) -> Iterator[str]:
    if output is None:
        yield "returns nothing"
    tensors = tensors_in(output)
    if any(t.is_floating_point() and t.layout is torch.strided and bool(t.isnan().any()) for t in tensors):
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


def _summary(error: BaseException) -> str:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
