"""How far the timings can be trusted: ``python -m benchmarks.timing`` prints one table.  Exit 1 if a target is missed.

A/A: two compilations of one function; a difference must be called at most as often as 5 times in 100.  A/B: the same
with 3% more work; it must be called in 90 of 100, and the interval must hold the true ratio in 93 of 100.  The true
ratio is that of all samples of all runs together.  Beside it, in the same run, what the medians of
``torch.utils.benchmark`` say of the same pairs, and on a GPU those of ``triton.testing.do_bench``.

``--busy`` does it once more while another process keeps a core busy.  ``--runs N`` for fewer than 200.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.benchmark import Timer

from constviz.timing.clocks import Clock, clock_for
from constviz.timing.rounds import Contender, interleave, settle
from constviz.timing.statistics import Estimate, estimate, verdict

BUDGET_S, PRECISION = 1.6, 0.005
"""What ``report.timings`` gives to its rounds by default."""
PIECES, MORE = 100, 103
TARGETS = {"A/A": (0.0, 0.05), "A/B": (0.90, 1.0)}
HELD = 0.93

Call = Callable[[], Any]


def work(pieces: int, device: str) -> Call:
    """A compiled function that does so many equal pieces of work."""
    x = torch.rand(64, 64, device=device)

    def f() -> torch.Tensor:
        y = x
        for _ in range(pieces):
            y = torch.sin(y)
        return y

    compiled = torch.compile(f, backend="eager")
    compiled()
    return compiled


def one(a: Call, b: Call, clock: Clock, seed: int) -> tuple[Estimate, Any]:
    """One run, as a user would make it."""
    pair = [Contender("before", a), Contender("after", b)]
    for contender in pair:
        settle(contender, clock)
    run = interleave(pair, clock, "before", budget_s=BUDGET_S, precision=PRECISION, seed=seed)
    ratio = run.ratio("after", "before")
    return estimate(ratio, seed), ratio


def unpaired(a: Call, b: Call) -> float:
    """The ratio of two medians, each measured alone."""
    times = [Timer("f()", globals={"f": f}).blocked_autorange(min_run_time=BUDGET_S / 2).median for f in (a, b)]
    return times[0] / times[1]


def do_bench(a: Call, b: Call) -> float:
    """The same by Triton."""
    from triton.testing import do_bench as bench  # type: ignore[import-not-found]

    times = [bench(f, warmup=50, rep=int(BUDGET_S * 500), return_mode="median") for f in (a, b)]
    return float(times[0] / times[1])


def measured(label: str, pieces: int, runs: int, device: str) -> bool:
    """Print one row for constviz, and one for each peer; whether the targets were met."""
    clock = clock_for(torch.device(device))
    a, b = work(pieces, device), work(PIECES, device)
    found, samples = [], []
    for seed in range(runs):
        estimated, ratio = one(a, b, clock, seed)
        found.append(estimated)
        samples.append(ratio)
    truth = float(np.median(np.concatenate(samples)))
    called = sum(verdict(e) != "no difference" for e in found) / runs
    held = sum(e.low <= truth <= e.high for e in found) / runs
    width = statistics.median(e.half_width for e in found)
    medians = [e.median for e in found]
    low, high = TARGETS[label.split(",")[0]]
    good = low <= called <= high and held >= HELD
    print(
        f"{label:12} constviz           {min(medians):.3f} to {max(medians):.3f}  true {truth:.4f}  "
        f"called {called:6.1%}  held {held:6.1%}  half width {width:.2%}  {'ok' if good else 'MISSED'}",
        flush=True,
    )
    peers = {"torch Timer": unpaired} | ({"triton do_bench": do_bench} if device == "cuda" else {})
    for name, ask in peers.items():
        ratios = [ask(a, b) for _ in range(max(runs // 10, 3))]
        wrong = sum(abs(ratio / truth - 1) > 0.01 for ratio in ratios) / len(ratios)
        print(
            f"{label:12} {name:18} {min(ratios):.3f} to {max(ratios):.3f}  off by more than 1%: {wrong:.0%}", flush=True
        )
    return good


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--busy", action="store_true")
    chosen = options.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    print(f"{clock_for(torch.device(device)).device}, torch {torch.__version__}, {chosen.runs} runs of {BUDGET_S} s")
    good = [measured("A/A", PIECES, chosen.runs, device), measured("A/B", MORE, chosen.runs, device)]
    if chosen.busy:
        other = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10**6))"])
        try:
            good.append(measured("A/A, busy", PIECES, chosen.runs, device))
            good.append(measured("A/B, busy", MORE, chosen.runs, device))
        finally:
            other.kill()
            other.wait()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
