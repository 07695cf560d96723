"""What the watch costs: ``python -m benchmarks.watch`` prints one table.  Exit status 1 if a check misses its target.

A check is timed while everything holds, as after most cells, and while everything is broken and was told already.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import constviz
from constviz.watching import Watch

from .overhead import transformer

Program = tuple[Any, torch.Tensor, Callable[[], object]]
"""A function, its input, and what breaks its assumptions."""

TARGET_MS = 1.0
"""Milliseconds a function that a check may cost."""


def small() -> Program:
    """One function that reads one setting."""
    settings = {"scale": 3.0}

    @torch.compiler.assume_constant_result
    def scale() -> float:
        return settings["scale"]

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * scale()

    return f, torch.ones(8), lambda: settings.update(scale=5.0)


def many(count: int = 100) -> Program:
    """One function that reads a hundred settings."""
    settings = {f"s{i}": float(i) for i in range(count)}

    @torch.compiler.assume_constant_result
    def total() -> float:
        return sum([settings[f"s{i}"] for i in range(count)])

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * total()

    return f, torch.ones(8), lambda: settings.update(dict.fromkeys(settings, -1.0))


def tables(count: int = 8) -> Program:
    """One function that reads eight tensors of a thousand elements."""
    settings = [torch.rand(1000) for _ in range(count)]

    @torch.compiler.assume_constant_result
    def total() -> torch.Tensor:
        return torch.stack([settings[i] for i in range(count)]).sum(0)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * total()

    return f, torch.ones(1000), lambda: [t.add_(1) for t in settings]


def model() -> Program:
    """A transformer of four layers, each of which folds a setting of its own."""
    layers = list(transformer())

    class Layer(torch.nn.Module):
        def __init__(self, block: torch.nn.Module) -> None:
            super().__init__()
            self.block, self.temperature = block, 2.0

        @torch.compiler.assume_constant_result
        def setting(self) -> float:
            return self.temperature

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.block(x / self.setting())
            return out

    scaled = [Layer(block) for block in layers]
    return (
        torch.nn.Sequential(*scaled),
        torch.randn(2, 32, 256),
        lambda: [setattr(layer, "temperature", 3.0) for layer in scaled] and None,
    )


def milliseconds(watch: Watch, rounds: int = 200) -> float:
    """The median check."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        watch.check()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def measure(build: Callable[[], Program]) -> tuple[str, int, float, float]:
    torch.compiler.reset()
    fn, x, change = build()
    with constviz.watch() as watch, torch.no_grad():
        compiled = torch.compile(fn, backend="eager")
        compiled(x)
        assumptions = len(constviz.compare(compiled, args=(x,), probe=False).assumptions)
        holding = milliseconds(watch)
        change()
        return build.__doc__ or "", assumptions, holding, milliseconds(watch)


def main() -> int:
    rows = [measure(build) for build in (small, many, tables, model)]
    print(f"{'a check of':70}{'assumptions':>12}{'holds':>12}{'broken':>12}{'target':>10}  met")
    for what, count, holding, broken in rows:
        met = "yes" if max(holding, broken) < TARGET_MS else "NO"
        print(f"{what:70}{count:12}{holding:9.3f} ms{broken:9.3f} ms{f'< {TARGET_MS:.0f} ms':>10}  {met}")
    return int(any(max(row[2:]) >= TARGET_MS for row in rows))


if __name__ == "__main__":
    sys.exit(main())
