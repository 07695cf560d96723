"""What constviz costs: ``python -m benchmarks.overhead`` prints one table, with the peers measured in the same run.

Rivals take turns in every round, in random order, so that a slow moment hits all of them; a row is the median of the
rounds' ratios (or differences) with a 95 % bootstrap interval.  Exit status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

import constviz

Thunk = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the table: ours against a peer's, and what was promised."""

    what: str
    ours: str
    peer: str
    result: str
    target: str
    met: bool | None


# -- a program to look at ----------------------------------------------------------------------------------------


@torch.compiler.assume_constant_result
def temperature() -> float:
    return 0.5


class Block(torch.nn.Module):
    """A pre-norm transformer block whose attention temperature is an assumed constant."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5 / temperature()
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


def transformer(layers: int = 4, width: int = 256, heads: int = 4) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(*(Block(width, heads) for _ in range(layers))).eval()


# -- measuring ---------------------------------------------------------------------------------------------------


def seconds(thunk: Thunk) -> float:
    """One run, from a fresh Dynamo; resetting is not counted."""
    torch._dynamo.reset()
    gc.collect()
    start = time.perf_counter()
    thunk()
    return time.perf_counter() - start


def rounds_of(rivals: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Each rival's own measurement, once a round, in a new random order each time."""
    order, rng = list(rivals), random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for name in order:  # warm
        rivals[name]()
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            times[name].append(rivals[name]())
    return times


def interval(values: Sequence[float], resamples: int = 1000) -> tuple[float, float, float]:
    """The median, and a 95 % bootstrap interval of it."""
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(resamples))
    return statistics.median(values), medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def ratio_row(what: str, ours: list[float], peer: list[float], limit: float | None) -> Row:
    middle, low, high = interval([a / b for a, b in zip(ours, peer, strict=True)])
    return Row(
        what,
        f"{statistics.median(ours):.3f} s",
        f"{statistics.median(peer):.3f} s",
        f"{middle:.2f}x [{low:.2f}, {high:.2f}]",
        "-" if limit is None else f"<= {limit:.2f}x",
        None if limit is None else middle <= limit,
    )


# -- the rows ----------------------------------------------------------------------------------------------------


def compare_rows(rounds: int) -> list[Row]:
    """compare() against two plain captures and against torch._dynamo.explain, which sees one side at a time."""
    model, x = transformer(), torch.randn(2, 32, 256)

    def with_mark(marked: bool, thunk: Thunk) -> float:
        temperature._dynamo_marked_constant = marked  # type: ignore[attr-defined]
        try:
            return seconds(thunk)
        finally:
            temperature._dynamo_marked_constant = True  # type: ignore[attr-defined]

    def capture() -> object:
        return torch.compile(model, backend="eager")(x)

    def explain() -> object:
        return torch._dynamo.explain(model)(x)

    with torch.no_grad():
        times = rounds_of(
            {
                "compare": lambda: seconds(lambda: constviz.compare(model, args=(x,), backend="eager")),
                "captures": lambda: with_mark(False, capture) + with_mark(True, capture),
                "explain before": lambda: with_mark(False, explain),
                "explain after": lambda: with_mark(True, explain),
            },
            rounds,
        )
    both = [sum(pair) for pair in zip(times["explain before"], times["explain after"], strict=True)]
    name = "compare(), 4-layer transformer"
    return [
        ratio_row(f"{name} / two torch.compile captures", times["compare"], times["captures"], 1.15),
        ratio_row(f"{name} / torch._dynamo.explain of both sides", times["compare"], both, 1.15),
        ratio_row(f"{name} / torch._dynamo.explain of one side", times["compare"], times["explain after"], None),
    ]


def idle_row(rounds: int, calls: int = 2000) -> Row:
    """A compiled call that is being watched and was reported already, against one that nobody watches."""
    from constviz.intercept import Interception

    f, x = torch.compile(lambda x: x + 1, backend="eager"), torch.ones(4)

    def block() -> float:
        f(x)  # the first call in a watch is the one that is kept for a report
        start = time.perf_counter()
        for _ in range(calls):
            f(x)
        return (time.perf_counter() - start) / calls * 1e6

    def watched() -> float:
        interception = Interception()
        interception.open()
        try:
            return block()
        finally:
            interception.close()

    torch._dynamo.reset()
    times = rounds_of({"watched": watched, "plain": block}, rounds)
    extra, low, high = interval([a - b for a, b in zip(times["watched"], times["plain"], strict=True)])
    return Row(
        "compiled call, intercepted but idle / plain",
        f"{statistics.median(times['watched']):.2f} us",
        f"{statistics.median(times['plain']):.2f} us",
        f"{extra:+.2f} us [{low:+.2f}, {high:+.2f}]",
        "< +1 us",
        extra < 1,
    )


def import_row(rounds: int) -> Row:
    """``import constviz`` in a fresh interpreter, against ``import torch``, and what it brings along."""

    def fresh(module: str) -> tuple[float, bool]:
        code = (
            f"import sys, time; start = time.perf_counter(); import {module}; took = time.perf_counter() - start; "
            "print(took, any(m in sys.modules for m in ('torch._dynamo', 'IPython')))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        took, heavy = run.stdout.split()
        return float(took), heavy == "True"

    heavy = fresh("constviz")[1]
    times = rounds_of({"ours": lambda: fresh("constviz")[0], "torch": lambda: fresh("torch")[0]}, rounds)
    return Row(
        "import constviz / import torch",
        f"{statistics.median(times['ours']) * 1e3:.1f} ms",
        f"{statistics.median(times['torch']) * 1e3:.0f} ms",
        "loads torch._dynamo or IPython" if heavy else "loads neither torch._dynamo nor IPython",
        "neither",
        not heavy,
    )


def print_table(rows: Sequence[Row]) -> None:
    lines = [("", "constviz", "peer", "median [95 %]", "target", "met")]
    lines += [(r.what, r.ours, r.peer, r.result, r.target, {True: "yes", False: "NO", None: "-"}[r.met]) for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description="What constviz costs.")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the slow rows (default 15)")
    rounds: int = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {rounds} rounds\n")
    rows = [*compare_rows(rounds), idle_row(20 * rounds), import_row(min(rounds, 7))]
    print_table(rows)
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
