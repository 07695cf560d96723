"""Verdicts on programs that read state: what each reads is known, so the verdict was worked out before it was run."""

from __future__ import annotations

import os
import types

import pytest
import torch
from judged import judged
from programs import mark

import constviz

STATE = {"k": 2}
NUMBERS = [1, 2]
module = types.ModuleType("settings")
module.width = 4
BOTH = {"a": 2.0, "b": 3.0}
TENSOR = torch.ones(2)


class Options:
    rate = 0.5


class Layer:
    def __init__(self, gain):
        self.value = gain

    @mark
    def gain(self):
        return self.value

    def __call__(self, x):
        return x * self.gain()


def marked(body):
    """A program that multiplies by what a marked function returns."""
    read = mark(body)
    return lambda x: x * read()


def closure():
    kept = {"n": 3}
    return lambda: kept["n"]


def default(a=1, b=2):
    return a + b


@mark
def reads_a():
    return BOTH["a"]


@mark
def doubled():
    return TENSOR * 2


@pytest.mark.parametrize(
    ("body", "expression"),
    [
        (lambda: STATE["k"], "STATE['k']"),
        (closure(), "kept['n']"),
        (default, "default of b in default"),
        (lambda: Options.rate, "Options.rate"),
        (lambda: module.width, "module.width"),
        (lambda: len(os.environ["HOME"]), "os.environ"),
        (lambda: sum(NUMBERS), "NUMBERS"),
        (lambda: 1 if torch.backends.cudnn.benchmark else 2, "torch.backends.cudnn.benchmark"),
    ],
    ids=["global", "closure", "default", "class", "module", "environ", "list", "flag"],
)
def test_state_that_is_read_is_an_assumption(body, expression):
    report, verdict, reason = judged(marked(body))
    assert verdict in ("conditional", "opaque"), reason
    assert any(expression in row for row in report.assumptions["expression"]), report.assumptions


def test_an_assumption_is_read_again_and_by_equality():
    report, _, _ = judged(marked(lambda: STATE["k"]))
    assert report.assumptions["holds"].tolist() == [True]
    try:
        STATE["k"] = 7
        assert report.assumptions[["current", "holds"]].values.tolist() == [["7", False]]
        STATE["k"] = int("2")
        assert report.assumptions["holds"].tolist() == [True]
    finally:
        STATE["k"] = 2


def test_another_instance_is_not_promised():
    _, verdict, reason = judged(Layer(2.0).__call__)
    assert verdict == "conditional" and "this instance" in reason and "self.value" in reason


def test_a_library_call_that_nobody_guards_is_named():
    _, verdict, reason = judged(marked(lambda: 2 if torch.distributed.is_initialized() else 1))
    assert verdict == "conditional" and "torch.distributed.is_initialized" in reason


def test_what_dynamo_cannot_trace_is_opaque():
    _, verdict, reason = judged(marked(lambda: os.stat(os.curdir).st_nlink * 0 + 2))
    assert verdict == "opaque" and "cannot trace" in reason


def test_a_report_keeps_its_verdicts_and_assumptions(tmp_path):
    report, _, _ = judged(marked(lambda: STATE["k"]))
    report.save(tmp_path / "r.json")
    again = constviz.load(tmp_path / "r.json")
    assert again.verdict == report.verdict and str(again) == str(report)
    assert again.assumptions.equals(report.assumptions)


def test_nothing_folded_has_the_verdict_not_folded_and_the_same_columns():
    report, verdict, _ = judged(lambda x: x + 1)
    assert verdict == "not_folded"
    assert list(report.assumptions.columns) == ["function", "expression", "guard", "expected", "current", "holds"]


def test_a_mark_in_another_module_reads_that_modules_state(tmp_path, monkeypatch):
    (tmp_path / "constviz_other.py").write_text(
        "import torch\nS = {'a': 2.0}\n@torch.compiler.assume_constant_result\ndef k(): return S['a']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import constviz_other

    report, verdict, _ = judged(lambda x: x.relu() * constviz_other.k())
    assert verdict == "conditional"
    assert report.assumptions["expression"].tolist() == ["constviz_other.S['a']"]


def test_another_item_of_a_guarded_container_is_not_guarded():
    report, verdict, _ = judged(lambda x: x * reads_a() * BOTH["b"])
    assert verdict == "conditional" and report.assumptions["expression"].tolist() == ["BOTH['a']"]


def test_what_is_in_a_tensor_is_not_guarded_though_the_graph_takes_it_too():
    _, verdict, reason = judged(lambda x: x * TENSOR + doubled())
    assert verdict == "conditional" and "TENSOR" in reason


def test_an_objects_attribute_is_an_assumption():
    settings = types.SimpleNamespace(gain=2.0)
    report, verdict, reason = judged(marked(lambda: settings.gain))
    assert verdict == "conditional" and "settings.gain" in reason
    settings.gain = 3.0
    assert report.assumptions[["expression", "current", "holds"]].values.tolist() == [["settings.gain", "3.0", False]]


def test_a_list_that_is_returned_and_changed_later():
    numbers = [1, 2]

    @mark
    def shared():
        return numbers

    report, verdict, _ = judged(lambda x: x * len(shared()))
    assert verdict == "conditional" and "numbers" in report.assumptions["expression"].tolist()
    numbers.append(3)
    assert not report.assumptions["holds"].all()

    @mark
    def fresh():
        return [1, 2]

    _, verdict, reason = judged(lambda x: x * len(fresh()))
    assert verdict == "conditional" and "can be changed" in reason


def test_instances_of_one_class_and_of_its_base():
    class Base:
        gain_value = 2.0

    class Derived(Base):
        @mark
        def gain(self):
            return self.gain_value

        def __call__(self, x):
            return x * self.gain()

    report, verdict, reason = judged(Derived().__call__)
    assert verdict == "conditional" and "this instance" in reason
    assert any("gain_value" in row for row in report.assumptions["expression"])


def test_each_layers_fold_names_its_own_state():
    class Scale(torch.nn.Module):
        def __init__(self, gain):
            super().__init__()
            self.gain_value = gain

        @mark
        def gain(self):
            return self.gain_value

        def forward(self, x):
            return x * self.gain()

    report, _, _ = judged(torch.nn.Sequential(Scale(1.5), Scale(2.5)))
    first, second = (f.reason for f in report.variants["after"].folds)
    assert "self[0].gain_value;" in first and "self[1].gain_value;" in second
