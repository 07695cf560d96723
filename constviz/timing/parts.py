"""Where the time of a call goes: guards, compiled graphs, and the Python around them.

Guards are measured as the difference to calls without them, graphs by a clock inside of the call; the rest is what is
left.  All is the host's time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .clocks import Clock
from .rounds import Contender, interleave
from .statistics import Estimate, estimate

__all__ = ["parts_of"]

Context = Callable[[], contextlib.AbstractContextManager[Any]]


def parts_of(
    contender: Contender,
    clock: Clock,
    calls: int,
    *,
    without_guards: Context | None,
    clocked: Callable[[list[float]], contextlib.AbstractContextManager[Any]],
    budget_s: float,
) -> tuple[Estimate | None, float, float]:
    """Microseconds a call in guards, in compiled graphs, and in the Python around them.

    Args:
        without_guards: a context in which guards are not evaluated; None if they cannot be left out.
        clocked: a context that adds the time inside of compiled graphs to a list's only item.
    """
    guards = None if without_guards is None else _guards(contender, clock, without_guards, budget_s / 2)
    inside, whole = _graphs(contender, clock, calls, clocked, budget_s / 2)
    return guards, inside, max(0.0, whole - inside - (max(0.0, guards.median) if guards else 0.0))


def _guards(contender: Contender, clock: Clock, without_guards: Context, budget_s: float) -> Estimate:
    @contextlib.contextmanager
    def around() -> Any:
        with contender.around(), without_guards():
            yield

    bare = Contender("without", contender.call, around, contender.compiles)
    full = Contender("with", contender.call, contender.around, contender.compiles)
    run = interleave([full, bare], clock, "without", budget_s=budget_s, precision=0.002)
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    if run.errors:
        raise next(iter(run.errors.values()))
    return estimate(run.host_us["with"] - run.host_us["without"])


def _graphs(
    contender: Contender,
    clock: Clock,
    calls: int,
    clocked: Callable[[list[float]], contextlib.AbstractContextManager[Any]],
    budget_s: float,
) -> tuple[float, float]:
    inside: list[float] = []
    whole: list[float] = []
    spent = [0.0]
    end = time.perf_counter() + budget_s
    with contender.around(), clocked(spent):
        while len(whole) < 3 or time.perf_counter() < end:
            spent[0] = 0.0
            whole.append(clock.time(contender.call, calls)[1])
            inside.append(spent[0] / calls)
    return float(np.median(inside)), float(np.median(whole))
