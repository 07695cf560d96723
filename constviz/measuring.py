"""The variants of a program timed against each other: made ready, checked against eager, then interleaved."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from .alternatives import Against, Alternative, alternatives
from .auditing import Program
from .capture.modes import under
from .capture.preserve import Snapshot, kept
from .capture.variants import quiet
from .contenders import Contenders, Entry
from .model import Failure, Timing
from .timing.parts import parts_of
from .timing.rounds import Run, interleave
from .timing.statistics import Estimate, estimate, verdict

__all__ = ["Settings", "measure"]

_FOR_ROUNDS = 0.8
"""Part of the budget that the rounds may take; the rest tells where the time goes."""
_FEW = 8
"""Rounds below which a row says how few there were."""
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


_ONE_AT_A_TIME = threading.RLock()
"""Two measurements would disturb each other, and each puts the process's output and warnings back."""


def measure(program: Program, settings: Settings, size: str = "") -> tuple[list[Timing], Run]:
    """Time the variants of one call.  The program's state is put back, also after an interrupt, which ends it early.

    Returns one row a variant, and what was measured.  A variant that fails has a row that says so.

    Raises:
        TypeError: something to compare against cannot be called.
    """
    others = alternatives(settings.against, program.options)
    roots = (program.target, program.args, program.kwargs, [(other.fn, other.args) for other in others])
    with contextlib.ExitStack() as stack:
        stack.enter_context(_ONE_AT_A_TIME)
        stack.enter_context(under(program.modes))
        stack.enter_context(quiet())
        state = stack.enter_context(kept(*roots))
        stage = _Stage(program, settings, state, stack)
        run = stage.run(program, others)
        return [stage.row(entry, run, size) for entry in stage.entries], run


class _Stage:
    """Where the contenders stand, from first to last."""

    def __init__(self, program: Program, settings: Settings, state: Snapshot, stack: contextlib.ExitStack) -> None:
        self._settings = settings
        budget_s, backward, flush_l2 = float(settings.budget_s), settings.backward, settings.flush_l2
        self._contenders = Contenders(program, state, stack, backward=backward, budget_s=budget_s, flush_l2=flush_l2)
        self._clock = self._contenders.clock
        self._parts: dict[str, tuple[Estimate | None, float, float]] = {}
        self.entries: list[Entry] = []

    def run(self, program: Program, others: list[Alternative]) -> Run:
        """Make all ready, and time them."""
        waiting = [Alternative("eager", program.target), Alternative("before", program.target, None, program.options)]
        waiting += [Alternative("after", program.target, None, program.options), *others]
        self.entries = [Entry(one.name) for one in waiting]
        try:
            for entry, one in zip(self.entries, waiting, strict=True):
                self._contenders.ready(one, entry)
        except KeyboardInterrupt:
            return Run(stopped="interrupted")
        ready = [entry.contender for entry in self.entries if entry.contender is not None]
        baseline = "before" if any(c.name == "before" for c in ready) else "eager"
        budget = float(self._settings.budget_s)
        limits = {"budget_s": budget * _FOR_ROUNDS, "precision": float(self._settings.precision)}
        run = interleave(ready, self._clock, baseline, seed=int(self._settings.seed), **limits)
        if run.stopped != "interrupted" and not self._contenders.is_slow:
            with contextlib.suppress(KeyboardInterrupt):
                self._look_inside(run, budget * (1 - _FOR_ROUNDS))
        return run

    # -- the table ------------------------------------------------------------------------------------------------

    def _look_inside(self, run: Run, budget_s: float) -> None:
        compiled = [e for e in self.entries if e.held and e.is_repeatable and e.name in run.calls]
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

    def row(self, entry: Entry, run: Run, size: str) -> Timing:
        """What is known of one variant."""
        row = Timing(entry.name, self._clock.device, size, compile_s=entry.compile_s)
        notes = [*entry.notes]
        error = entry.error or run.errors.get(entry.name)
        if error is not None:
            return _noted(row, [_summary(error), *notes], result="failed")
        samples = run.device_us.get(entry.name)
        if samples is None or not len(samples):
            return _noted(row, [*notes, f"not timed: {run.stopped or 'nothing was measured'}"])
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
        if run.discarded.get(entry.name):
            notes.append(f"compiled anew in {run.discarded[entry.name]} rounds, which are not counted")
        if len(samples) < _FEW:
            times = "once" if len(samples) == 1 else f"{len(samples)} times"
            notes.append(f"timed {times}: the budget of {float(self._settings.budget_s):g} s has room for no more")
        if run.stopped == "interrupted":
            notes.append("interrupted")
        if entry.unequal:
            return _noted(row, [f"not what eager gives: {entry.unequal}", *notes], result="not equal")
        if entry.name == "before":
            return _noted(row, notes, speedup=1.0, speedup_low=1.0, speedup_high=1.0, result="no difference")
        baseline = next((e for e in self.entries if e.name == "before"), None)
        if baseline is None or "before" not in run.device_us or baseline.unequal or "before" in run.errors:
            return _noted(row, [*notes, "nothing to compare with: see the row of before"])
        ratio = estimate(run.ratio(entry.name, "before"), seed)
        return _noted(row, notes, **_interval("speedup", "speedup_low", "speedup_high", ratio), result=verdict(ratio))


def _noted(row: Timing, notes: list[str], **facts: Any) -> Timing:
    return replace(row, note="; ".join(notes), **facts)


def _interval(middle: str, low: str, high: str, found: Estimate) -> dict[str, Any]:
    if not np.isfinite(found.high):  # one sample has none
        return {middle: found.median}
    return {middle: found.median, low: found.low, high: found.high}


@contextlib.contextmanager
def _without_guards() -> Iterator[None]:
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        yield


def _summary(error: BaseException) -> str:
    text = Failure(type(error).__name__, str(error)).summary
    cause = error.__cause__
    return f"{text} ({_summary(cause)})" if cause is not None and len(text) < 200 else text
