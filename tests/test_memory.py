"""Tensors that plain operations do not take: views larger than their memory, nested ones, those of the device meta."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from programs import mark

import constviz
from constviz.capture.copies import put_back
from constviz.capture.equality import difference, not_compared
from constviz.capture.memory import copied, repeats

HUGE = 10**12
X = torch.ones(3)
WIDE = torch.zeros(1).expand(HUGE)


@mark
def two():
    return 2.0


@mark
def wide():
    return torch.zeros(1).expand(HUGE)


@mark
def length(x):
    return len(x)


def ragged(factor=1.0):
    return torch.nested.nested_tensor([torch.ones(2) * factor, torch.ones(3)])


NESTED = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


@pytest.mark.parametrize(
    ("fn", "arg"),
    [
        (lambda x: (torch.zeros(1).expand(HUGE), x * two()), X),
        (lambda x: (x.as_strided((HUGE, 2), (0, 1)), x * two()), X),
        (lambda x: x * two() + wide()[:3].sum(), X),
        (lambda x: WIDE[:3] * x * two(), X),
        (lambda w: w[:3] * two(), WIDE),
        (lambda w: w[:3] * length(w), WIDE),
    ],
    ids=["returned", "returned view of the input", "folded", "state", "input", "given to a marked function"],
)
def test_a_view_larger_than_memory(fn, arg):
    report = constviz.compare(fn, args=(arg,), backend="eager")
    assert report.variants["after"].error is None
    assert report.verdict in ("sound", "conditional")
    assert not [note for note in report.notes if "ompared" in note]
    assert report.audit(repeats=1)["equal"].all()


def test_a_view_takes_no_more_room_than_its_memory():
    code = (
        "import resource, torch, constviz\n"
        "@torch.compiler.assume_constant_result\n"
        "def two(): return 2.0\n"
        "fn = lambda x: (x.expand(3 * 10**8), two() * x)\n"
        "constviz.compare(fn, args=(torch.ones(1),), backend='eager')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "constviz.compare(fn, args=(torch.ones(1),), backend='eager').audit(repeats=1)\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 900_000, before\n"  # 1.2 GB for one copy
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@NESTED
@pytest.mark.parametrize(
    "fn",
    [lambda n: n * two(), lambda n: (torch.ones(2) * two(), n), lambda n: ragged(two())],
    ids=["in", "through", "out"],
)
def test_a_nested_tensor(fn):
    given = ragged()
    report = constviz.compare(fn, args=(given,), backend="eager")
    result = report.variants["after"].result
    assert report.variants["after"].error is None
    assert "nested float32[2, *]" in result.text
    assert result.shape in ((2, "*"), None)
    assert report.audit(repeats=1)["equal"].all()
    assert [part.tolist() for part in given.unbind()] == [[1.0] * 2, [1.0] * 3]
    assert repr(report) and report.widget and len(report.nodes().columns)


@NESTED
def test_nested_tensors_are_compared_part_by_part():
    assert difference(ragged(), ragged()) is None
    assert difference(ragged(), ragged(5.0))
    assert not_compared(ragged(), ragged(5.0)) is None


def test_what_is_written_through_a_view_is_put_back():
    base = torch.zeros(1)
    view = base.expand(HUGE)
    kept = copied(view)
    base.fill_(7)
    put_back(view, kept)
    assert base.item() == 0
    small = base.expand(4)
    kept = copied(small)
    base.fill_(7)
    put_back(small, kept)
    assert base.item() == 0


def test_views_are_compared_by_what_they_hold():
    assert difference(torch.zeros(1).expand(HUGE), torch.zeros(1).expand(HUGE)) is None
    assert difference(torch.zeros(1).expand(HUGE), torch.ones(1).expand(HUGE))
    assert difference(torch.zeros(1).expand(5), torch.zeros(5)) is None
    assert difference(torch.zeros(1).expand(5), torch.ones(5))


def test_what_cannot_be_compared_is_said():
    report = constviz.compare(lambda x: (x * two(), torch.ones(2, device="meta")), args=(X,), backend="eager")
    assert report.notes[-1] == "Not compared with eager: float32[2]: tensors on the device meta hold nothing."
    assert "not compared: float32[2]" in report.audit(repeats=1)["note"][0]
    windows = torch.arange(2**20).unfold(0, 2**19, 1)
    assert repeats(windows)
    assert "far more than their memory" in (str(not_compared(windows, windows)))
