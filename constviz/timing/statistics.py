"""What samples say: medians and ratios with bootstrap intervals, and the plain word for a ratio.

The interval is the percentile bootstrap (Efron 1979) of the median, made of blocks of neighbouring rounds (Politis and
Romano 1992): rounds that follow each other are alike, since a busy machine stays busy for a while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LEVEL", "MARGIN", "Estimate", "estimate", "verdict"]

LEVEL = 0.95
"""How often an interval is to hold the truth."""
_ASKED = 0.97
"""What is asked of the bootstrap for that: it cannot see what changes only from run to run (benchmarks/timing.py)."""
MARGIN = 0.01
"""A ratio this near to 1 is no difference: two compilations of one function differ as much by where memory lies."""
_STUDENT = {2: 21.2, 3: 5.643, 4: 3.896, 5: 3.298, 6: 3.003, 7: 2.829}
"""Student's t for 97 of 100, by the number of samples: fewer than 8 have no distribution to draw from again."""
_FEW = 40
_RESAMPLES = 1000
_AT_ONCE = 2_000_000

Samples = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A median and its interval."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Of the interval, relative to the median."""
        return (self.high - self.low) / 2 / abs(self.median) if self.median else float("inf")


def estimate(samples: Samples, seed: int = 0, resamples: int = _RESAMPLES) -> Estimate:
    """The median of samples that were taken one after the other, and its interval.

    From 8 to 40 samples have an interval between two of them, by the binomial distribution, and fewer than 8 Student's;
    a single one has none: it is infinite.
    """
    if len(samples) < 2:
        return Estimate(float(np.median(samples)) if len(samples) else float("nan"), 0.0, float("inf"))
    if len(samples) < _FEW:
        return _of_few(samples)
    medians = _resampled_medians(samples, np.random.default_rng(seed), resamples)
    low, high = np.quantile(medians, [(1 - _ASKED) / 2, (1 + _ASKED) / 2])
    return Estimate(float(np.median(samples)), float(low), float(high))


def _of_few(samples: Samples) -> Estimate:
    median, count = float(np.median(samples)), len(samples)
    if count in _STUDENT:
        half = _STUDENT[count] * float(np.std(samples, ddof=1)) / math.sqrt(count)
        return Estimate(median, median - half, median + half)
    ordered, outside, rank = np.sort(samples), 0.0, 0
    while (more := outside + 2 * math.comb(count, rank) / 2**count) <= 1 - _ASKED:
        outside, rank = more, rank + 1
    return Estimate(median, float(ordered[rank - 1]), float(ordered[count - rank]))


def _resampled_medians(samples: Samples, random: Any, resamples: int) -> Samples:
    count = len(samples)
    length = max(1, round(count ** (1 / 3)))  # the order of length that is best for a median or mean
    pieces = -(-count // length)
    within = np.arange(length)
    medians = []
    step = max(1, _AT_ONCE // count)
    for done in range(0, resamples, step):
        starts = random.integers(0, count, (min(step, resamples - done), pieces, 1))
        chosen = ((starts + within) % count).reshape(len(starts), -1)[:, :count]
        medians.append(np.median(samples[chosen], axis=1))
    return np.concatenate(medians)


def verdict(speedup: Estimate) -> str:
    """``faster``, ``slower``, or ``no difference``: the interval must clear 1 and the margin."""
    if speedup.low > 1 + MARGIN:
        return "faster"
    if speedup.high < 1 / (1 + MARGIN):
        return "slower"
    return "no difference"
