"""Timings on an accelerator.  ``python -m benchmarks.gpu`` runs these and prints a table."""

from __future__ import annotations

import pytest
import torch
from programs import mark

import constviz
from constviz.timing.clocks import EventClock

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]


@mark
def table(n, device):
    return torch.linspace(0, 1, n, device=device).cos().sin().cos().sin()


def scaled(x):
    return x * table(x.shape[1], "cuda")


def report_of(x, **options):
    return constviz.compare(scaled, args=(x,), dynamic=False, **{"backend": "eager", **options})


def test_the_device_is_named_and_its_time_is_not_the_host_s():
    found = report_of(torch.rand(4096, 8192, device="cuda")).timings(budget_s=1.0)
    assert found["device"].str.startswith("cuda (").all()
    row = found.loc["after"]
    # 128 MiB read and written take 50 us and more on any GPU there is; to launch one kernel takes less
    assert row["median_us"] > row["host_us"] > 0


def test_small_graphs_are_bound_by_the_host_and_gain_from_fewer_kernels():
    found = report_of(torch.rand(2, 64, device="cuda")).timings(budget_s=1.0)
    assert found.loc["before", "kernels"] == 6  # linspace, four functions, the product
    assert found.loc["after", "kernels"] == 1
    assert found.loc["after", "result"] == "faster"


def test_peak_memory_is_that_of_the_results():
    found = report_of(torch.rand(1024, 1024, device="cuda")).timings(budget_s=0.5)
    assert found.loc["after", "peak_bytes"] == 4 * 1024 * 1024


def test_cuda_graphs_overwrite_their_outputs_and_are_timed_all_the_same():
    found = report_of(torch.rand(64, 64, device="cuda"), backend="inductor", mode="reduce-overhead").timings()
    assert not set(found["result"]) & {"failed", "not equal"}


def test_a_cold_cache_is_slower():
    x = torch.rand(1024, 1024, device="cuda")
    warm = report_of(x).timings(budget_s=0.5)
    cold = report_of(x).timings(budget_s=0.5, flush_l2=True)
    assert cold.loc["after", "median_us"] > warm.loc["after", "median_us"]


def test_out_of_memory_is_a_row():
    def too_much(x):
        return x.sum() + torch.empty(1 << 45, device="cuda").sum()

    found = report_of(torch.rand(8, 8, device="cuda")).timings(against=too_much, budget_s=0.5)
    assert found.loc["too_much", "result"] == "failed" and "OutOfMemory" in found.loc["too_much", "note"]
    assert found.loc["after", "median_us"] > 0


def test_events_see_what_the_device_does():
    clock = EventClock(torch.device("cuda"))
    small, large = (torch.rand(n, n, device="cuda") for n in (256, 4096))
    (fast, _), (slow, _) = (clock.time(lambda m=m: m @ m, 10) for m in (small, large))
    assert slow > 3 * fast
