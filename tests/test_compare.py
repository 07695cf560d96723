"""compare() on real programs, through real compiles: what each variant holds, and what becomes of each fold."""

from __future__ import annotations

import functools

import programs
import pytest
import torch
from programs import mark

import constviz
from constviz.model import Outcome, Role

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def variants(fn, *args, **options):
    return constviz.compare(fn, args=args, **{"backend": "eager", **options}).variants


def folds(fn, *args, **options):
    return variants(fn, *args, **options)["after"].folds


def test_a_literal_has_its_function_line_value_and_consumer():
    x = torch.tensor([-1.0, 2.0])
    found = variants(programs.scaled, x)
    (fold,) = found["after"].folds
    assert (fold.function, fold.outcome, fold.result.text) == ("scale", Outcome.FOLDED, "3.0")
    assert fold.location.source == "return torch.relu(x) * scale()"
    assert fold.node is None
    (consumer,) = [n for n in found["after"].graphs[0].nodes if n.name in fold.consumers]
    assert (consumer.target, consumer.arguments.split(", ")[1]) == ("mul", "3.0")
    for name in ("eager", "before", "after"):
        assert found[name].output.tolist() == [0.0, 6.0]


def test_before_guards_what_after_assumes():
    found = variants(programs.scaled, torch.ones(2))
    read = {name: {g.expression for g in found[name].guards} for name in ("before", "after")}
    assert "CFG['scale']" in read["before"] - read["after"]


def test_a_tensor_is_a_constant_node_and_its_bytes_are_counted():
    (fold,) = folds(lambda x: torch.add(x, programs.table()), torch.ones(3))
    assert fold.result.nbytes == 3 * 4
    graph = variants(lambda x: torch.add(x, programs.table()), torch.ones(3))["after"].graphs[0]
    (constant,) = graph.constants
    assert (constant.role, constant.fold, constant.value.text) == (Role.CONSTANT, "after/0", "[0, 1, 2] (float32[3])")


def test_arithmetic_on_a_folded_number_leads_to_its_consumer():
    def fn(x):
        return x * (2 * programs.scale() + 1)

    found = variants(fn, torch.ones(2))["after"]
    (consumer,) = found.folds[0].consumers
    assert [n.arguments for n in found.graphs[0].nodes if n.name == consumer] == ["l_x_, 7.0"]


def test_a_constant_that_dynamo_computes_from_a_fold_belongs_to_it():
    def fn(x):
        return x + 2 * programs.table()

    found = variants(fn, torch.ones(3))["after"]
    (fold,) = found.folds
    assert fold.node is None and len(fold.derived) == 1
    assert found.output.tolist() == [1.0, 3.0, 5.0]


def test_only_the_chosen_marks_fold():
    report = constviz.compare(programs.two_marks, args=(torch.ones(2, 2),), fold=["axis"], backend="eager")
    assert [f.function for f in report.variants["after"].folds] == ["axis"]
    assert {(m.function, m.selected) for m in report.comparison.marks} == {("axis", True), ("scale", False)}


def test_a_name_that_marks_nothing_is_said():
    with pytest.warns(UserWarning, match="scael"):
        report = constviz.compare(programs.scaled, args=(torch.ones(2),), fold=["scael"], backend="eager")
    assert any("scael" in note for note in report.comparison.notes)


def test_graph_breaks_come_with_reason_line_and_hint():
    found = variants(programs.broken, torch.ones(2))
    for name in ("before", "after"):
        (broken,) = found[name].graph_breaks
        assert "graph_break" in broken.reason and "Remove" in broken.hint
        assert broken.location.source == "torch._dynamo.graph_break()"
        assert len(found[name].graphs) == 2
        assert found[name].graphs[0].break_reason == broken.reason
    assert [(f.function, f.graph) for f in found["after"].folds] == [("scale", 0), ("axis", 1)]


def test_two_call_sites_of_a_tensor_under_aot_are_a_result_not_a_crash():
    found = variants(programs.two_tables, torch.ones(3), backend="aot_eager")
    assert found["before"].error is None
    assert "already in seen_sources" in found["after"].error.message
    assert {f.outcome for f in found["after"].folds} == {Outcome.ERROR}
    assert found["eager"].output.tolist() == [1.0, 3.0, 5.0]
    assert variants(programs.two_tables, torch.ones(3))["after"].error is None


def test_before_may_fail_where_after_does_not():
    @mark
    def size():
        torch._dynamo.graph_break()  # nothing Dynamo could trace; as plain Python it does nothing
        return 2

    found = variants(lambda x: x[: size()] + 1, torch.ones(3), fullgraph=True)
    assert found["before"].error.type == "Unsupported" and found["before"].output is None
    assert found["after"].error is None and found["after"].output.tolist() == [2.0, 2.0]


def test_branches_of_cond_are_part_of_the_graph():
    def fn(x):
        return torch.cond(x.sum() > 0, lambda y: y * programs.scale(), lambda y: y - 1, (x,))

    found = variants(fn, torch.ones(2))["after"]
    assert any(n.name.startswith("cond_true_0.") and n.target == "mul" for n in found.graphs[0].nodes)
    assert found.folds[0].outcome is Outcome.FOLDED


def test_a_skipped_frame_is_no_fold():
    @mark
    def plus_one(x):
        return x + 1

    (fold,) = folds(lambda x: 2 * plus_one(x), torch.tensor(3))
    assert fold.outcome is Outcome.FRAME_SKIPPED and fold.result.text.startswith("4")


def test_arguments_that_cannot_be_constants_break_the_graph():
    @mark
    def length(xs):
        return len(xs)

    (fold,) = folds(lambda x: x * length([x, x]), torch.ones(1))
    if TORCH < (2, 12):  # before, Dynamo failed on it
        assert fold.outcome is Outcome.ERROR
    else:
        assert fold.outcome is Outcome.GRAPH_BREAK and "conversion failed" in fold.reason


class Callable:
    def __call__(self):
        return 2


class Holder:
    value = 2

    @mark
    @classmethod
    def read(cls):
        return cls.value


partial = mark(functools.partial(lambda n: n + 1, 1))
instance = mark(Callable())
cached = mark(functools.lru_cache(lambda: 2))
compiled = mark(torch.compile(lambda x: x * 2, backend="eager"))


@pytest.mark.parametrize(
    ("fn", "word"),
    [
        (lambda x: x * partial(), "partial"),
        (lambda x: x * instance(), "instance"),
        (lambda x: x * cached(), "lru_cache"),
        (lambda x: x * Holder.read(), "classmethod"),
        (lambda x: compiled(x), "torch.compile returned"),
        (mark(lambda x: x * 2), "compiled function itself"),
    ],
    ids=["partial", "instance", "lru_cache", "classmethod", "compiled", "top"],
)
def test_a_mark_dynamo_cannot_see_is_inert_and_why(fn, word):
    report = constviz.compare(fn, args=(torch.ones(1),), backend="eager")
    (fold,) = report.variants["after"].folds
    assert fold.outcome is Outcome.INERT and word in fold.reason
    assert any("Nothing was folded" in note for note in report.comparison.notes)


def test_a_mark_under_lru_cache_is_not_called_inert():
    inner = mark(lambda: 2)
    under = functools.lru_cache(inner)
    (fold,) = folds(lambda x: x * under(), torch.ones(1))
    assert fold.outcome is Outcome.FOLDED


def test_nothing_marked_is_said():
    report = constviz.compare(lambda x: x + 1, args=(torch.ones(1),), backend="eager")
    assert "no marked function was called" in " ".join(report.comparison.notes)


def test_methods_and_modules():
    layer = programs.Layer()
    for target in (layer, layer.forward, torch.compile(layer, backend="eager")):
        report = constviz.compare(target, args=(torch.ones(2, 3),), backend="eager")
        (fold,) = report.variants["after"].folds
        assert (fold.function, fold.result.text) == ("Layer.gain", "2.0")
    nodes = report.variants["after"].graphs[0].nodes
    assert ("linear",) in {n.module for n in nodes} and Role.PARAMETER in {n.role for n in nodes}


def test_hooks_of_a_module_still_run():
    layer = torch.nn.Linear(2, 2)
    model = torch.nn.Sequential(layer)
    model.register_forward_hook(lambda module, args, output: output + 100)
    found = variants(model, torch.zeros(1, 2))
    assert torch.equal(found["after"].output, found["eager"].output) and found["after"].output.min() > 50


def test_compiled_functions_keep_their_own_options():
    seen = []

    def backend(gm, inputs):
        seen.append(len(inputs))
        return gm.forward

    fn = torch.compile(programs.scaled, backend=backend, fullgraph=True)
    report = constviz.compare(fn, args=(torch.ones(2),))
    assert report.comparison.options == {"backend": "backend", "fullgraph": "True"}
    assert len(seen) == 2  # before and after, through the user's own backend


def test_a_guard_filter_of_the_users_is_kept():
    asked = []

    def drop_all(entries):
        asked.append(len(entries))
        return [False] * len(entries)

    options = {"guard_filter_fn": drop_all}
    found = variants(programs.scaled, torch.ones(2), options=options)
    assert asked and found["before"].guards == ()
    assert options == {"guard_filter_fn": drop_all}


def test_compiled_functions_inside_are_part_of_the_capture():
    inner = torch.compile(lambda x: x * programs.scale(), backend="eager")

    def outer(x):
        torch._dynamo.graph_break()
        return inner(x) + 1

    found = variants(outer, torch.ones(2))["after"]
    assert [f.function for f in found.folds] == ["scale"] and found.output.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: constviz.compare(3), "needs a function"),
        (lambda: constviz.compare(programs.scaled, args=()), "does not take these arguments"),
        (lambda: constviz.compare(programs.scaled, args=torch.ones(2)), "args must be a tuple"),
        (lambda: constviz.compare(programs.scaled, args=(1,), kwargs={"y": 2}), "does not take these arguments"),
    ],
)
def test_bad_calls_are_type_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_the_users_own_exception_comes_through():
    def fails(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        constviz.compare(fails, args=(torch.ones(1),), backend="eager")


def test_compile_options_are_checked_by_torch():
    with pytest.raises(Exception, match="nosuch"):
        constviz.compare(programs.scaled, args=(torch.ones(1),), backend="nosuch")


def test_a_frame_left_to_python_is_named_with_the_reason():
    def stream(x):
        yield x * programs.scale()

    report = constviz.compare(stream, args=(torch.ones(2),), backend="eager")
    (note,) = report.comparison.notes
    assert "stream to plain Python" in note and "generator" in note


def test_a_backend_that_fails_is_named():
    def broken_backend(gm, inputs):
        raise RuntimeError("no luck")

    found = variants(programs.scaled, torch.ones(2), backend=broken_backend)
    assert "broken_backend" in found["before"].error.message and "no luck" in found["after"].error.message
    assert len(found["after"].graphs) == 1
