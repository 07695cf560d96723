"""What a marked function asks and no guard answers for: sizes, facts of a tensor, numbers left open, side effects."""

from __future__ import annotations

import dataclasses
import linecache
import sys
import types

import numpy as np
import pytest
import torch
from judged import judged as judged_on
from programs import mark

X = torch.ones(2, 3)
RATE = 2.5
RATES = {"rate": 2.5}
FLAGS = {"seen": False}
SEEN = False
TABLE = torch.ones(3, 2)


def judged(fn, *args, **options):
    """Given an input of two dimensions, unless others are given."""
    return judged_on(fn, *(args or (X,)), **options)


def asking(body):
    """A program that multiplies by the answer of a marked function about its input."""
    ask = mark(body)
    return lambda x: x * ask(x)


SIZES = {
    "second": lambda x: x.shape[1],
    "threshold": lambda x: 1 if x.shape[0] < 100 else 2,
    "far_threshold": lambda x: 1 if x.size(1) < 1_000_000 else 2,
    "stride": lambda x: x.stride(0),
    "contiguous": lambda x: 1.0 if x.is_contiguous() else 2.0,
    "length": lambda x: len(x),
    "by_name": lambda x: getattr(x, "shape")[1],  # noqa: B009
    "product": lambda x: x.numel(),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_is_guarded_only_until_it_changes(name):
    # after another size Dynamo compiles with a symbol, and the fold answers for the size it saw then
    _, verdict, reason = judged(asking(SIZES[name]))
    assert verdict == "conditional" and "size" in reason, reason
    assert judged(asking(SIZES[name]), dynamic=False)[1] == "sound"


def test_what_holds_for_every_size_is_sound():
    assert judged(asking(lambda x: float(x.ndim)))[1] == "sound"
    assert judged(asking(lambda x: 2.0 if x.dtype is torch.float32 else 3.0))[1] == "sound"


@pytest.mark.parametrize(
    "body",
    [
        lambda x: 1.0 if x.grad_fn is None else 2.0,
        lambda x: 1.0 if x.is_leaf else 2.0,
        lambda x: 1.0 if getattr(x, "grad_fn") is None else 2.0,  # noqa: B009
    ],
)
def test_facts_of_a_tensor_that_no_guard_covers(body):
    x = torch.ones(2, requires_grad=True)
    _, verdict, reason = judged(asking(body), x)
    assert verdict == "conditional", reason
    # by hand: a leaf and a result of autograd pass the same guards
    compiled = torch.compile(asking(body), backend="eager")
    assert compiled(x).tolist() == compiled(x * 1.0).tolist()


def test_numbers_that_dynamic_leaves_open_are_assumptions():
    kept = 2.5

    class Holder:
        value = 2.5

    holder = Holder()
    bodies = {"RATE": lambda: RATE, "RATES['rate']": lambda: RATES["rate"], "kept": lambda: kept,
              "holder": lambda: holder.value}  # fmt: skip
    for words, body in bodies.items():
        read = mark(body)
        report, verdict, reason = judged(lambda x, read=read: x * read(), dynamic=True)
        assert verdict == "conditional", (words, reason)
        assert any(words in row for row in report.assumptions["expression"]), report.assumptions


def test_an_open_number_is_read_again():
    read = mark(lambda: RATES["rate"])
    report, _, _ = judged(lambda x: x * read(), dynamic=True)
    row = report.assumptions.set_index("expression").loc["RATES['rate']"]
    assert (row["expected"], row["holds"]) == ("2.5", True)
    try:
        RATES["rate"] = 7.0
        row = report.assumptions.set_index("expression").loc["RATES['rate']"]
        assert (row["current"], row["holds"]) == ("7.0", False)
    finally:
        RATES["rate"] = 2.5


@pytest.mark.parametrize("keep", [lambda entry: False, lambda entry: entry.guard_type != "EQUALS_MATCH"])
def test_a_guard_filter_of_the_users_hides_no_assumption(keep):
    read = mark(lambda: RATES["rate"])
    options = {"guard_filter_fn": lambda entries: [keep(entry) for entry in entries]}
    report, verdict, reason = judged(lambda x: x * read() + RATE, options=options)
    assert verdict == "conditional", reason
    assert report.assumptions["expression"].tolist() == ["RATES['rate']"]  # RATE is read outside of the fold


def test_one_name_in_two_modules_is_two_things():
    inner = _module("constviz_test_inner", "SCALE = 2.0\n@mark\ndef k():\n    return SCALE\n"
                    "def f(x):\n    return x * k()\n")  # fmt: skip
    outer = _module(
        "constviz_test_outer",
        "import constviz_test_inner as inner\nSCALE = 2.0\ndef g(x):\n    torch._dynamo.graph_break()\n"
        "    y = inner.f(x)\n    torch._dynamo.graph_break()\n    return y * SCALE\n",
    )
    report, verdict, _ = judged(outer.g)
    assert verdict == "conditional"
    assert any("SCALE" in row for row in report.assumptions["expression"])
    try:
        outer.SCALE = 5.0
        assert report.assumptions["holds"].all()
        inner.SCALE = 5.0
        assert not report.assumptions["holds"].all()
    finally:
        del sys.modules[inner.__name__], sys.modules[outer.__name__]


def _module(name, source):
    module = types.ModuleType(name)
    module.__dict__.update(torch=torch, mark=mark)
    linecache.cache[f"<{name}>"] = (len(source), None, source.splitlines(True), f"<{name}>")
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec"), module.__dict__)
    return module


def sets_a_global():
    global SEEN
    SEEN = True
    return 2.0


def sets_an_item():
    FLAGS["seen"] = True
    return 2.0


def nonlocal_setter():
    seen = False

    def body():
        nonlocal seen
        seen = True
        return 2.0 if seen else 3.0

    return body


@pytest.mark.parametrize("body", [sets_a_global, sets_an_item, nonlocal_setter()], ids=["global", "item", "nonlocal"])
def test_a_side_effect_is_told_also_if_it_changes_nothing_twice(body):
    read = mark(body)
    _, verdict, reason = judged(lambda x: x * read())
    assert verdict != "sound", reason
    assert SEEN is False and FLAGS == {"seen": False}


def test_what_it_builds_for_itself_is_no_side_effect():
    @mark
    def build(n):
        table = {}
        table["n"] = n
        values = [0] * n
        values[0] = 1
        return table["n"] + values[0]

    assert judged(lambda x: x * build(3))[1] == "sound"


@dataclasses.dataclass
class Batch:
    values: torch.Tensor
    n: int = 1


def test_a_tensor_inside_of_an_argument_is_asked_about():
    total = mark(lambda batch: float(batch.values.sum()))
    _, verdict, reason = judged(lambda x, batch: x * total(batch), X, Batch(torch.ones(3)))
    assert verdict == "unsound" and "3.0 became 9.0" in reason, reason


def test_a_constant_of_the_graph_as_argument_never_changes():
    @mark
    def double(t):
        return 2.0

    assert judged(lambda x: x * double(torch.zeros(2)))[1] == "sound"
    total = mark(lambda t: t.sum().item())
    assert judged(lambda x: x * total(torch.ones(2)))[1] != "unsound"
    assert judged(lambda x: x * total(x + torch.ones(3)))[1] == "unsound"


@pytest.mark.parametrize(
    "body",
    [
        lambda: complex(float("nan"), 1),
        lambda: frozenset([float("nan"), 2.0]),
        lambda: np.array([1.0, float("nan")]),
        lambda: (float("nan"), [float("nan")]),
    ],
    ids=["complex", "set", "array", "list"],
)
def test_not_a_number_is_itself(body):
    read = mark(body)
    _, verdict, reason = judged(lambda x: x * (2.0 if read() is None else 3.0))
    assert verdict != "unsound", reason


def test_what_is_passed_on_as_it_is_depends_on_no_size():
    same = mark(lambda x: x)
    assert judged(lambda x: same(x) * 2)[1] == "sound"
