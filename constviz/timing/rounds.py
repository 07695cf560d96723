"""Interleaved rounds: each times a block of every contender, in random order, until the ratios are known well enough.

Two functions that are timed one after the other are compared across minutes of a machine's life; here a round lasts
about a millisecond, and only the ratios within a round count.
"""

from __future__ import annotations

import contextlib
import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .clocks import Clock
from .statistics import Samples, estimate

__all__ = ["Contender", "Run", "interleave", "settle"]

_FEWEST, _FIRST_CHECK = 3, 200
_LEAST = 0.25
"""Part of the budget that is always spent: slow drifts of the machine do not show in a short run's interval."""
_TOO_OFTEN = 20
"""Blocks in a row in which a contender was compiled anew, before it is left out."""
_SWEEP_S = 0.5
_HELD, _LARGEST = 8, 40_000
"""Pieces of memory held at a time, and their largest size in bytes: see :class:`_Shaken`."""


@dataclass
class Contender:
    """Something to time."""

    name: str
    call: Callable[[], Any]
    around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext
    """Entered around each block, outside of the clock."""
    compiles: Callable[[], int] = lambda: 0
    """How often it was compiled so far.  A block in which this grows is not counted."""
    singly: bool = False
    """A block is one call, since a call changes what the next one finds."""


@dataclass
class Run:
    """What was measured.  Sample ``i`` of every contender is from round ``i``."""

    device_us: dict[str, Samples] = field(default_factory=dict)
    """Microseconds a call on the device, by contender."""
    host_us: dict[str, Samples] = field(default_factory=dict)
    """Microseconds a call until the host was free again."""
    calls: dict[str, int] = field(default_factory=dict)
    """Calls in a block."""
    errors: dict[str, BaseException] = field(default_factory=dict)
    """What a contender raised: it was left out from then on."""
    discarded: dict[str, int] = field(default_factory=dict)
    """Rounds not counted, since this contender was compiled in them."""
    stopped: str = ""
    """Why it ended: ``precise``, ``budget`` or ``interrupted``."""
    seed: int = 0

    @property
    def rounds(self) -> int:
        """Rounds that count."""
        return max(map(len, self.device_us.values()), default=0)

    def ratio(self, name: str, baseline: str) -> Samples:
        """How many times as long the baseline took, round by round."""
        a, b = self.device_us[baseline], self.device_us[name]
        count = min(len(a), len(b))
        return a[:count] / b[:count]


def settle(contender: Contender, clock: Clock, limit_s: float = 1.0, most: int = 50) -> None:
    """Call until nothing is compiled any more.  Raises what the contender raises."""
    quiet, begin = 0, time.perf_counter()
    for _ in range(most):
        known = contender.compiles()
        with contender.around():
            contender.call()
            clock.drain()
        if contender.compiles() == known:
            quiet += 1
        else:
            quiet, begin = 0, time.perf_counter()
        if quiet >= 3 and (quiet >= 10 or time.perf_counter() - begin > limit_s / 10):
            break
        if quiet and time.perf_counter() - begin > limit_s:
            break


def interleave(
    contenders: Sequence[Contender],
    clock: Clock,
    baseline: str,
    *,
    budget_s: float,
    precision: float,
    seed: int = 0,
) -> Run:
    """Time contenders against each other.  They have been called before: see :func:`settle`.

    Args:
        budget_s: seconds in all.  Three rounds are made in any case, or one if a round takes longer than that.
        precision: stop when the half width of every ratio's interval is below this part of the ratio.
        seed: of the order in which a round calls them, and of the intervals.

    An interrupt ends it early; what was measured is kept.  A contender that raises is left out.
    """
    run = Run(seed=seed)
    rows: list[dict[str, tuple[float, float]]] = []
    with _no_collection() as collect:
        try:
            run.stopped = _rounds(run, rows, contenders, clock, baseline, budget_s, precision, collect)
        except KeyboardInterrupt:
            run.stopped = "interrupted"
    _fill(run, rows)
    return run


def _rounds(
    run: Run,
    rows: list[dict[str, tuple[float, float]]],
    contenders: Sequence[Contender],
    clock: Clock,
    baseline: str,
    budget_s: float,
    precision: float,
    collect: Callable[[], None],
) -> str:
    begin = time.perf_counter()
    shuffled = random.Random(run.seed)
    shaken = _Shaken(run.seed)
    alive = [c for c in contenders if _calibrated(run, c, clock)]
    in_a_row: dict[str, int] = {}
    next_check = _FIRST_CHECK
    while alive:
        row: dict[str, tuple[float, float]] = {}
        for contender in shuffled.sample(alive, len(alive)):
            known = contender.compiles()
            try:
                with contender.around():
                    row[contender.name] = clock.time(contender.call, run.calls[contender.name])
            except (Exception, SystemExit) as error:
                run.errors[contender.name] = error
                alive.remove(contender)
                continue
            if contender.compiles() != known:
                run.discarded[contender.name] = run.discarded.get(contender.name, 0) + 1
                in_a_row[contender.name] = in_a_row.get(contender.name, 0) + 1
                del row[contender.name]
                if in_a_row[contender.name] >= _TOO_OFTEN:
                    run.errors[contender.name] = RecompilesError(
                        f"it is compiled anew in each of {_TOO_OFTEN} blocks in a row: there is no time to tell"
                    )
                    alive.remove(contender)
            else:
                in_a_row[contender.name] = 0
        if all(c.name in row for c in alive):
            rows.append(row)
        spent = time.perf_counter() - begin
        fewest = _FEWEST if spent < _FEWEST * budget_s else 1
        if spent >= budget_s and (len(rows) >= fewest or sum(run.discarded.values()) > _TOO_OFTEN):
            return "budget"
        collect()
        shaken.move()
        if len(rows) >= next_check and spent >= _LEAST * budget_s:
            next_check = int(len(rows) * 1.3)
            _fill(run, rows)
            others = [c.name for c in alive if c.name != baseline]
            if all(_is_precise(run, name, baseline, precision) for name in others):
                return "precise"
    return "budget"


class _Shaken:
    """Moves what is allocated later, from round to round.

    Where memory lies makes a function faster or slower (Mytkowicz et al. 2009).  One place for a whole run is an error
    that its interval knows nothing of; many places are noise that it does know of.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._held: list[bytearray] = []

    def move(self) -> None:
        self._held.append(bytearray(self._random.randrange(1, _LARGEST)))
        if len(self._held) > _HELD:
            self._held.pop(self._random.randrange(_HELD))


class RecompilesError(RuntimeError):
    """A contender is compiled at every call."""


def _is_precise(run: Run, name: str, baseline: str, precision: float) -> bool:
    if not len(run.device_us.get(baseline, ())):
        return False
    return estimate(run.ratio(name, baseline), resamples=200).half_width < precision


def _calibrated(run: Run, contender: Contender, clock: Clock) -> bool:
    """Whether it is known how many calls make a block."""
    calls, wanted = 1, clock.block_s * 1e6
    if contender.singly:
        run.calls[contender.name] = 1
        return True
    try:
        with contender.around():
            while True:
                device, host = clock.time(contender.call, calls)
                taken = max(device, host) * calls
                if taken >= 0.7 * wanted:
                    break
                calls = max(calls + 1, int(calls * min(10.0, wanted / max(taken, 1e-3))))
    except (Exception, SystemExit) as error:
        run.errors[contender.name] = error
        return False
    run.calls[contender.name] = calls
    return True


def _fill(run: Run, rows: list[dict[str, tuple[float, float]]]) -> None:
    names = {name: None for row in rows for name in row}
    for name in names:
        pairs = np.array([row[name] for row in rows if name in row], dtype=np.float64).reshape(-1, 2)
        run.device_us[name], run.host_us[name] = pairs[:, 0], pairs[:, 1]


@contextlib.contextmanager
def _no_collection() -> Iterator[Callable[[], None]]:
    """No garbage collection inside a block, as ``timeit`` does it; now and then one between blocks."""
    last = time.perf_counter()

    def collect() -> None:
        nonlocal last
        if time.perf_counter() - last > _SWEEP_S:
            gc.collect(1)
            last = time.perf_counter()

    enabled = gc.isenabled()
    gc.disable()
    try:
        yield collect
    finally:
        if enabled:
            gc.enable()
