"""Verdicts on programs that look at their arguments: values, sizes, what the guards cover; with probes and without."""

from __future__ import annotations

import pytest
import torch
from judged import X, judged
from programs import mark


@mark
def largest(x):
    return float(x.max())


@mark
def length(x):
    return x.shape[0]


@mark
def dtype_size(x):
    return x.element_size()


@mark
def biggest_of(*numbers):
    return max(numbers)


def test_a_tensors_value_is_unsound():
    _, verdict, reason = judged(lambda x: x / largest(x))
    assert verdict == "unsound" and "values of a tensor" in reason


def test_a_size_is_conditional_and_unsound_once_it_is_open():
    _, verdict, reason = judged(lambda x: x * length(x))
    assert verdict == "conditional" and "size" in reason
    _, verdict, _ = judged(lambda x: x * length(x), torch.ones(4), dynamic=True)
    assert verdict in ("unsound", "conditional")
    _, verdict, _ = judged(lambda x: x * length(x), dynamic=False)
    assert verdict == "sound"


def test_what_the_guards_of_a_tensor_cover_is_sound():
    assert judged(lambda x: x * dtype_size(x))[1] == "sound"


def test_literals_and_plain_arguments_are_sound():
    assert judged(lambda x: x * biggest_of(1, 5, 3))[1] == "sound"
    assert judged(lambda x, n: x * biggest_of(n, 2), X, 3)[1] == "sound"


def test_without_probes_nothing_is_called_sound_and_it_is_said():
    asked = []

    @mark
    def two():
        asked.append(1)
        return 2

    _, verdict, reason = judged(lambda x: x * biggest_of(1, 2), probe=False)
    assert verdict == "conditional" and "probes were turned off" in reason
    judged(lambda x: x * two(), probe=False)
    assert asked == []


def test_a_question_that_only_the_opposite_values_answer_otherwise_is_unsound():
    @mark
    def any_negative(x):
        return bool((x < 0).any())

    _, verdict, reason = judged(lambda x: x - 1 if any_negative(x) else x + 1)
    assert verdict == "unsound" and "False became True" in reason


def test_an_open_size_is_unsound_with_both_values():
    _, verdict, reason = judged(lambda x: x * length(x), torch.ones(4), dynamic=True)
    assert verdict == "unsound" and "size that the graph leaves open" in reason and "4 became 5" in reason


@pytest.mark.parametrize(("limit", "expected"), [(100, "unsound"), (100_000, "conditional")])
def test_a_threshold_on_a_size_that_the_graph_leaves_open(limit, expected):
    @mark
    def is_long(x):
        return len(x) > limit

    # 64 times as many are probed: that shows the lower limit, and only the code's mention of len the higher one
    _, verdict, _ = judged(lambda x: x + 1 if is_long(x) else x - 1, torch.ones(4), dynamic=True)
    assert verdict == expected


def test_two_marks_each_with_their_own_verdict():
    report, verdict, _ = judged(lambda x: x * biggest_of(1, 2) + largest(x))
    told = {f.function: str(f.verdict) for f in report.variants["after"].folds}
    assert told == {"biggest_of": "sound", "largest": "unsound"} and verdict == "unsound"
    assert "verdict: unsound (1 unsound, 1 sound)" in str(report)
