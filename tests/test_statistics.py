"""What a constant tensor holds, in numbers worked out by hand."""

from __future__ import annotations

import torch
from programs import mark

import constviz
from constviz.capture.describe import describe
from constviz.capture.statistics import with_statistics


def described(tensor):
    return with_statistics(describe(tensor), tensor)


def test_numbers():
    found = dict(described(torch.tensor([[0.0, 1.0], [2.0, 5.0]])).stats)
    assert found == {"min": "0", "max": "5", "mean": "2", "std": "1.87083", "zeros": "1 of 4"}  # variance 14 / 4


def test_what_is_not_finite_is_counted_and_left_out():
    value = described(torch.tensor([1.0, float("nan"), float("inf"), 3.0]))
    assert dict(value.stats) == {"min": "1", "max": "3", "mean": "2", "std": "1", "nan": "1 of 4", "inf": "1 of 4"}
    assert value.heat.values == (0.0, None, None, 1.0)


def test_the_picture_is_made_of_means_over_blocks():
    value = described(torch.arange(64.0).reshape(32, 2))
    assert (value.heat.rows, value.heat.cols) == (16, 2)
    assert value.heat.values[:2] == (round(1 / 63, 3), round(2 / 63, 3))  # of rows 0 and 1: 0, 2 and 1, 3
    assert described(torch.zeros(2, 3, 4)).heat.values == (0.0,) * 24


def test_what_has_no_numbers_to_show():
    for tensor in (torch.tensor(3.0), torch.zeros(0), torch.eye(2).to_sparse(), torch.zeros(2, device="meta")):
        assert described(tensor).stats == () and described(tensor).heat is None
    assert described(torch.tensor([True, False])).stats[0] == ("min", "0")
    assert described(torch.full((2,), float("nan"))).heat is None


def test_a_report_has_them_for_its_constants():
    @mark
    def mask():
        return torch.tril(torch.ones(2, 2))

    after = constviz.compare(lambda x: x @ mask(), args=(torch.ones(2, 2),), backend="eager").variants["after"]
    held = next(node.value for node in after.graphs[0].nodes if node.fold)
    assert after.folds[0].result.heat.values == held.heat.values == (1.0, 0.0, 1.0, 1.0)
