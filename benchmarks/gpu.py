"""Everything that needs a GPU, in under four minutes: ``python -m benchmarks.gpu``.  Exit 1 if anything fails.

The tests marked ``gpu``, the table of a program that gains, and a short run of ``benchmarks.timing``.
"""

from __future__ import annotations

import subprocess
import sys

import torch

import constviz

RUNS = 16


@torch.compiler.assume_constant_result
def bias(n: int) -> torch.Tensor:
    """A bias for attention that depends on positions alone."""
    positions = torch.arange(n, device="cuda")
    distance = (positions[:, None] - positions[None, :]).abs().float()
    weights = torch.exp(-distance / 32)
    return weights / weights.sum(-1, keepdim=True)


def attend(x: torch.Tensor) -> torch.Tensor:
    """Attention of a sequence to itself."""
    return torch.softmax(x @ x.T + bias(1024), -1) @ x


def main() -> int:
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was run")
        return 1
    x = torch.rand(1024, 64, device="cuda")
    for options in ({"backend": "eager"}, {"backend": "inductor"}, {"mode": "reduce-overhead"}):
        times = constviz.compare(attend, args=(x,), **options).timings()
        print(f"{options}\n{times.table()}\n{times.parts.to_string()}\n", flush=True)
    steps = (
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", "tests/test_timings_gpu.py"],
        [sys.executable, "-m", "benchmarks.timing", "--runs", str(RUNS)],
    )
    return max([subprocess.run(step, check=False).returncode for step in steps])


if __name__ == "__main__":
    sys.exit(main())
