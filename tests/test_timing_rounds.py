"""Rounds and their statistics, without torch.compile: samples whose truth is known, and a clock that can be set."""

from __future__ import annotations

import numpy as np
import pytest

from constviz.timing.clocks import WallClock
from constviz.timing.rounds import Contender, RecompilesError, interleave, settle
from constviz.timing.statistics import Estimate, estimate, verdict


class SetClock:
    """Time passes only as a contender says: ``cost`` microseconds a call."""

    device, block_s = "clock", 1e-3

    def __init__(self):
        self.order = []

    def time(self, call, calls):
        self.order.append(call)
        costs = [call() for _ in range(calls)]
        return sum(costs) / calls, sum(costs) / calls

    def drain(self):
        pass


def contender(name, cost, **options):
    return Contender(name, lambda: cost, **options)


def run(*contenders, clock=None, budget_s=0.05, precision=1e-9):
    return interleave(list(contenders), clock or SetClock(), contenders[0].name, budget_s=budget_s, precision=precision)


def test_the_ratio_is_that_of_the_costs():
    found = run(contender("before", 300.0), contender("after", 100.0))
    ratio = estimate(found.ratio("after", "before"))
    assert (ratio.median, ratio.low, ratio.high) == (3.0, 3.0, 3.0)
    assert verdict(ratio) == "faster"
    # a block is to last a millisecond; costs do not rise, so the calls come from them alone
    assert found.calls["before"] >= 3 and found.calls["after"] >= 7


def test_every_round_has_every_contender_in_random_order():
    clock = SetClock()
    a, b, c = (contender(name, 1000.0) for name in "abc")
    found = run(a, b, c, clock=clock)
    rounds = clock.order[3:]  # the first three found the size of a block
    names = {a.call: "a", b.call: "b", c.call: "c"}
    orders = {tuple(names[call] for call in rounds[i : i + 3]) for i in range(0, len(rounds) - 2, 3)}
    assert len(orders) == 6 and all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert {len(samples) for samples in found.device_us.values()} == {found.rounds}


def test_it_stops_when_it_is_precise_and_not_before_part_of_the_budget():
    found = run(contender("before", 1000.0), contender("after", 1000.0), precision=0.01, budget_s=0.2)
    assert found.stopped == "precise" and found.rounds >= 200


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.011, 1.2, "faster"),
        (1.009, 1.2, "no difference"),
        (0.8, 0.99, "slower"),
        (0.8, 0.9902, "no difference"),
        (0.9, 1.1, "no difference"),
        (0.0, float("inf"), "no difference"),
    ],
)
def test_a_difference_must_clear_the_margin(low, high, word):
    assert verdict(Estimate((low + 1) / 2, low, high)) == word


@pytest.mark.parametrize("alike", [0.0, 0.7], ids=["independent", "drifting"])
def test_the_interval_holds_the_median_as_often_as_it_says(alike):
    random = np.random.default_rng(1)
    held = 0
    for k in range(200):
        noise = random.standard_normal(600)
        for i in range(1, len(noise)):  # rounds that follow each other are alike
            noise[i] = alike * noise[i - 1] + (1 - alike**2) ** 0.5 * noise[i]
        found = estimate(np.exp(0.1 * noise), seed=k, resamples=400)
        held += found.low <= 1.0 <= found.high
    # nominally 190 of 200; 3 standard deviations of a binomial are 9.2, and drift costs some
    assert held >= (180 if not alike else 172)


@pytest.mark.parametrize("count", [2, 3, 5, 7, 8, 12, 25, 39])
def test_few_samples_have_wide_intervals(count):
    random = np.random.default_rng(2)
    found = [estimate(np.exp(0.1 * random.standard_normal(count))) for _ in range(1000)]
    held = sum(e.low <= 1.0 <= e.high for e in found)
    assert held >= 950  # of 1000


def test_by_hand_seven_samples_and_eight():
    seven = estimate(np.arange(1.0, 8.0))
    # mean and median 4, standard deviation sqrt(28 / 6), t of 6 degrees at 98.5%: 2.829
    assert (seven.low, seven.high) == pytest.approx(
        (4 - 2.829 * (28 / 6) ** 0.5 / 7**0.5, 4 + 2.829 * (28 / 6 / 7) ** 0.5)
    )
    # 2 / 2**8 is less than 3 in 100, and with the next one it is more: the ends of the sample
    assert (estimate(np.arange(1.0, 9.0)).low, estimate(np.arange(1.0, 9.0)).high) == (1.0, 8.0)


def test_a_single_sample_has_no_interval():
    assert estimate(np.array([2.0])).high == float("inf")
    assert np.isnan(estimate(np.array([])).median)


def test_one_that_raises_is_left_out_and_the_others_go_on():
    calls = []

    def fails():
        calls.append(1)
        if len(calls) > 40:
            raise MemoryError("gone")
        return 1000.0

    found = run(contender("before", 1000.0), Contender("after", fails), contender("other", 500.0))
    assert isinstance(found.errors["after"], MemoryError)
    assert len(found.device_us["other"]) > len(found.device_us["after"]) > 0


def test_an_interrupt_keeps_what_was_measured():
    calls = []

    def interrupted():
        calls.append(1)
        if len(calls) > 50:
            raise KeyboardInterrupt
        return 1000.0

    found = run(contender("before", 1000.0), Contender("after", interrupted))
    assert found.stopped == "interrupted" and found.rounds >= 45


def test_a_block_in_which_something_was_compiled_does_not_count():
    compiled = [0]

    def sometimes():
        if compiled[0] < 3:
            compiled[0] += 1
        return 1000.0

    found = run(contender("before", 1000.0), Contender("after", sometimes, compiles=lambda: compiled[0]))
    assert found.discarded["after"] == 2  # the first was compiled while the block was sized
    assert not found.errors


def test_one_that_is_always_compiled_anew_is_given_up():
    compiled = [0]

    def always():
        compiled[0] += 1
        return 1000.0

    found = run(contender("before", 1000.0), Contender("after", always, compiles=lambda: compiled[0]))
    assert isinstance(found.errors["after"], RecompilesError)


def test_settling_waits_for_the_compiler():
    compiled, calls = [0], []

    def call():
        calls.append(1)
        if len(calls) < 6:
            compiled[0] += 1

    settle(Contender("after", call, compiles=lambda: compiled[0]), WallClock())
    assert compiled[0] == 5 and len(calls) >= 8


def test_the_wall_clock_sees_what_a_sleep_takes():
    import time

    device, host = WallClock().time(lambda: time.sleep(0.002), 5)
    assert device == host and 2000 <= device < 20000
