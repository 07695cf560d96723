"""Verdicts on real programs: what each reads and does is known, so the verdict was worked out before it was run."""

from __future__ import annotations

import enum
import itertools
import os
import random
import time
import types

import numpy as np
import pytest
import torch
from programs import mark

import constviz

STATE = {"k": 2}
NUMBERS = [1, 2]
module = types.ModuleType("settings")
module.width = 4
X = torch.ones(2)


class Options:
    rate = 0.5


class Mode(enum.Enum):
    ADD = 1


class Tagged(torch.Tensor):
    pass


class Layer:
    def __init__(self, gain):
        self.value = gain

    @mark
    def gain(self):
        return self.value

    def __call__(self, x):
        return x * self.gain()


def judged(fn, *args, **options):
    report = constviz.compare(fn, args=args or (X,), **{"backend": "eager", **options})
    return report, str(report.verdict), " ".join(f.reason for f in report.variants["after"].folds)


def marked(body):
    """A program that multiplies by what a marked function returns."""
    read = mark(body)
    return lambda x: x * read()


def closure():
    kept = {"n": 3}
    return lambda: kept["n"]


def default(a=1, b=2):
    return a + b


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


COUNTER = itertools.count()


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
def table():
    return torch.zeros(2)


WEIGHT = torch.tensor([3.0, 4.0], requires_grad=True)


@mark
def unit():
    return WEIGHT / WEIGHT.norm()


@mark
def mode():
    return Mode.ADD


@mark
def tagged():
    return torch.ones(2).as_subclass(Tagged)


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


def test_another_instance_is_not_promised():
    _, verdict, reason = judged(Layer(2.0).__call__)
    assert verdict == "conditional" and "this instance" in reason and "self.value" in reason


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


def test_a_library_call_that_nobody_guards_is_named():
    _, verdict, reason = judged(marked(lambda: 2 if torch.distributed.is_initialized() else 1))
    assert verdict == "conditional" and "torch.distributed.is_initialized" in reason


def test_what_dynamo_cannot_trace_is_opaque():
    _, verdict, reason = judged(marked(lambda: os.stat(os.curdir).st_nlink * 0 + 2))
    assert verdict == "opaque" and "cannot trace" in reason


def test_a_marked_function_that_counts_its_calls_has_a_side_effect():
    calls = [0]

    def counts():
        calls[0] += 1
        return 2

    _, verdict, _ = judged(marked(counts))
    assert verdict == "conditional" and calls == [0]


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


BOTH = {"a": 2.0, "b": 3.0}
TENSOR = torch.ones(2)


@mark
def reads_a():
    return BOTH["a"]


@mark
def doubled():
    return TENSOR * 2


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


def test_two_marks_each_with_their_own_verdict():
    report, verdict, _ = judged(lambda x: x * biggest_of(1, 2) + largest(x))
    told = {f.function: str(f.verdict) for f in report.variants["after"].folds}
    assert told == {"biggest_of": "sound", "largest": "unsound"} and verdict == "unsound"
    assert "verdict: unsound (1 unsound, 1 sound)" in str(report)


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
