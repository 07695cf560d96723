"""Verdicts on programs that answer otherwise each time, share what they return, or change things; probes never do."""

from __future__ import annotations

import enum
import itertools
import os
import random
import time

import numpy as np
import pytest
import torch
from judged import judged
from programs import mark

COUNTER = itertools.count()
WEIGHT = torch.tensor([3.0, 4.0], requires_grad=True)


class Mode(enum.Enum):
    ADD = 1


class Tagged(torch.Tensor):
    pass


@mark
def table():
    return torch.zeros(2)


@mark
def unit():
    return WEIGHT / WEIGHT.norm()


@mark
def mode():
    return Mode.ADD


@mark
def tagged():
    return torch.ones(2).as_subclass(Tagged)


def marked(body):
    """A program that multiplies by what a marked function returns."""
    read = mark(body)
    return lambda x: x * read()


@pytest.mark.parametrize(
    "body",
    [
        lambda: random.random(),
        lambda: float(np.random.rand()),
        lambda: torch.rand(1).item(),
        lambda: time.perf_counter_ns(),
        lambda: next(COUNTER),
    ],
    ids=["random", "numpy", "torch", "clock", "iterator"],
)
def test_what_answers_otherwise_each_time_is_unsound(body):
    _, verdict, reason = judged(marked(body))
    assert verdict == "unsound", reason


def test_a_shared_tensor_that_the_graph_writes_is_unsound():
    _, verdict, reason = judged(lambda x: table().add_(x) * x)
    assert verdict == "unsound" and "second call" in reason


def test_autograd_history_is_unsound():
    _, verdict, reason = judged(lambda x: (x * unit()).sum(), backend="aot_eager")
    assert verdict == "unsound" and "second backward" in reason


@pytest.mark.parametrize("fn", [lambda x: (x + 1, mode()), lambda x: (type(tagged()).__name__, x + tagged())])
def test_a_wrong_first_call_is_unsound(fn):
    _, verdict, reason = judged(fn)
    assert verdict == "unsound" and "first call already differs" in reason


def test_what_fails_is_unsound():
    def fn(x):
        return x + table() + (x * table())

    report, verdict, _ = judged(fn, backend="aot_eager")
    assert report.variants["after"].error and verdict == "unsound"


def test_a_marked_function_that_counts_its_calls_has_a_side_effect():
    calls = [0]

    def counts():
        calls[0] += 1
        return 2

    _, verdict, _ = judged(marked(counts))
    assert verdict == "conditional" and calls == [0]


def test_a_tensor_that_leaves_the_graph_is_shared_by_all_calls():
    base = torch.zeros(2)

    @mark
    def constant():
        return base.detach()

    _, verdict, _ = judged(lambda x: (x + 1, constant().view(2)))
    assert verdict != "sound"


def test_a_hidden_state_of_tracing_is_unsound_at_the_first_call():
    _, verdict, reason = judged(marked(lambda: 1 if torch.compiler.is_compiling() else 2))
    assert verdict == "unsound" and "differs from eager: [2, 2]" in reason


def test_a_generator_of_ones_own_is_a_counter_example_and_stays_where_it_was():
    generator = torch.Generator().manual_seed(7)
    numbers = np.random.default_rng(7)
    states = generator.get_state().clone(), numbers.bit_generator.state
    for body in (lambda: torch.rand(1, generator=generator).item(), lambda: float(numbers.random())):
        assert judged(marked(body))[1] == "unsound"
    assert torch.equal(generator.get_state(), states[0]) and numbers.bit_generator.state == states[1]


def test_probes_leave_no_trace():
    calls, seen = {"n": 0}, []

    class Counting:
        total = 0

        @mark
        def next(self, x):
            self.total += 1
            calls["n"] += 1
            seen.append(x.shape)
            x.add_(1)
            os.environ["CONSTVIZ_PROBED"] = "yes"
            return self.total

        def __call__(self, x):
            return x * self.next(x)

    owner, x = Counting(), torch.ones(2)
    random.seed(1)
    states = random.getstate(), torch.get_rng_state(), torch.is_grad_enabled()
    _, verdict, _ = judged(owner.__call__, x)
    assert verdict == "unsound"
    assert (owner.total, vars(owner), calls, seen) == (0, {}, {"n": 0}, [])
    assert x.tolist() == [1, 1] and "CONSTVIZ_PROBED" not in os.environ
    assert random.getstate() == states[0] and torch.equal(torch.get_rng_state(), states[1])
    assert torch.is_grad_enabled() is states[2]
