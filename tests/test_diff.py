"""Pairing the nodes of two captures, and linking folds to what they replaced."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constviz.analysis.diff import Status, diff
from constviz.model import Fold, Graph, Location, Node, Outcome, Role, Value, Variant

CALL = Location("/home/me/net.py", 9, "forward", "return x * table(4)")
HOME = Location("/home/me/net.py", 2, "table", "def table(n):")
BODY = Location("/home/me/net.py", 3, "table", "return torch.arange(n) + 1")


def op(name, *inputs, target=None, at=(CALL,), **more):
    target = target or name.rsplit("_", 1)[0] if name[-1].isdigit() else target or name
    return Node(name, "call_function", target, inputs=inputs, arguments=", ".join(inputs), stack=at, **more)


def source(name, target=None, role=Role.INPUT):
    return Node(name, "placeholder", target or name, role)


def output(*inputs):
    return Node("output", "output", "output", Role.OUTPUT, inputs)


def variant(name, *graphs, folds=()):
    made = tuple(
        Graph(i, "f", tuple(nodes), break_reason="print" if i + 1 < len(graphs) else None)
        for i, nodes in enumerate(graphs)
    )
    return Variant(name, made, folds=tuple(folds))


def statuses(found):
    return {node.node.name: str(node.status) for node in found.nodes}


BEFORE = [
    source("x"),
    op("arange", at=(CALL, BODY)),
    op("add", "arange", at=(CALL, BODY)),
    op("mul", "x", "add"),
    output("mul"),
]
TENSOR = Node("table_0", "get_attr", "table_0", Role.CONSTANT, stack=(CALL,), value=Value("int64[4]", "Tensor"))


def fold(id="0", **more):
    return Fold(id, "table", Outcome.FOLDED, CALL, HOME, graph=0, **more)


class TestFolds:
    def test_tensor(self):
        after = [source("x"), TENSOR, op("mul", "x", "table_0"), output("mul")]
        found = diff(variant("b", BEFORE), variant("a", after, folds=[fold(node="table_0", consumers=("mul",))]))
        assert statuses(found) == {
            "x": "kept", "arange": "removed", "add": "removed", "table_0": "constant", "mul": "kept", "output": "kept",
        }  # fmt: skip
        (link,) = found.folds
        assert link.id == link.constant == "after.0.table_0"
        assert link.consumers == ("after.0.mul",)
        assert link.inlined == ("before.0.arange", "before.0.add")
        edges = {(e.source, e.target): str(e.status) for e in found.edges}
        assert edges["before.0.add", "after.0.mul"] == "removed"
        assert edges["after.0.table_0", "after.0.mul"] == "added"
        assert edges["after.0.x", "after.0.mul"] == "kept"

    def test_literal_is_an_entry_of_its_own(self):
        after = [source("x"), op("mul", "x"), output("mul")]
        found = diff(variant("b", BEFORE), variant("a", after, folds=[fold(consumers=("mul",))]))
        (link,) = found.folds
        assert (link.id, link.constant) == ("fold.0", None)
        assert ("fold.0", "after.0.mul") in {(e.source, e.target) for e in found.edges}
        assert found.order.index("fold.0") == found.order.index("after.0.mul") - 1
        assert statuses(found)["mul"] == "kept"

    def test_derived_constant(self):
        derived = replace(TENSOR, name="mul_0", target="mul_0")
        after = [source("x"), derived, op("mul", "x", "mul_0"), output("mul")]
        found = diff(variant("b", BEFORE), variant("a", after, folds=[fold(derived=("mul_0",))]))
        assert found.folds[0].derived == ("after.0.mul_0",)
        assert ("fold.0", "after.0.mul_0") in {(e.source, e.target) for e in found.edges}

    def test_loop_deals_nodes_to_calls(self):
        nodes, kept = [source("x")], [source("x")]
        for k in range(3):
            last = nodes[-1].name if k else "x"
            nodes += [op(f"arange_{k}", at=(CALL, BODY)), op(f"mul_{k}", last, f"arange_{k}")]
            kept += [op(f"mul_{k}", last)]
        found = diff(
            variant("b", nodes), variant("a", kept, folds=[fold(str(k), consumers=(f"mul_{k}",)) for k in range(3)])
        )
        assert [link.inlined for link in found.folds] == [(f"before.0.arange_{k}",) for k in range(3)]

    def test_call_that_broke_the_graph_belongs_to_it(self):
        resumed = Location(BODY.file, 4, "torch_dynamo_resume_in_table_at_3")
        first = [source("x"), op("arange", at=(CALL, BODY)), output("arange")]
        second = [source("a", "a"), op("add", "a", at=(resumed,)), output("add")]
        third = [source("x"), source("b", "b"), op("mul", "x", "b"), output("mul")]
        after = [source("x"), TENSOR, op("mul", "x", "table_0"), output("mul")]
        found = diff(
            variant("b", first, second, third),
            variant("a", after, folds=[fold(node="table_0", consumers=("mul",))]),
        )
        assert found.folds[0].inlined == ("before.0.arange", "before.1.add")

    def test_same_line_other_function(self):
        other = Location(BODY.file, 20, "scale")
        before = [source("x"), op("ones", at=(CALL, other)), *BEFORE[1:]]
        found = diff(variant("b", before), variant("a", [source("x"), op("mul", "x")], folds=[fold()]))
        assert found.folds[0].inlined == ("before.0.arange", "before.0.add")

    @pytest.mark.parametrize("outcome", [Outcome.INERT, Outcome.GRAPH_BREAK, Outcome.FRAME_SKIPPED, Outcome.ERROR])
    def test_only_folded_calls_are_linked(self, outcome):
        call = replace(fold(), outcome=outcome)
        assert diff(variant("b", BEFORE), variant("a", BEFORE, folds=[call])).folds == ()


class TestGraphBreaks:
    BEFORE = (
        [source("x"), source("w", "w", Role.PARAMETER), op("mul", "x", "w"), output("mul")],
        [source("l_y_", "y"), source("w", "w", Role.PARAMETER), op("add", "l_y_", "w"), output("add")],
    )
    AFTER = [source("x"), source("w", "w", Role.PARAMETER), op("mul", "x", "w"), op("add", "mul", "w"), output("add")]

    def test_what_a_break_hands_over_is_no_change(self):
        found = diff(variant("b", *self.BEFORE), variant("a", self.AFTER))
        assert set(statuses(found).values()) == {"kept"}
        assert len(found.nodes) == 5

    def test_the_break_stands_between(self):
        found = diff(variant("b", *self.BEFORE), variant("a", self.AFTER))
        (cut,) = found.cuts
        assert (cut.reason, str(cut.status)) == ("print", "removed")
        ends = {(e.source, e.target): str(e.status) for e in found.edges}
        assert ends["after.0.mul", cut.id] == ends[cut.id, "after.0.add"] == "removed"
        assert ends["after.0.mul", "after.0.add"] == "added"

    def test_both_break(self):
        found = diff(variant("b", *self.BEFORE), variant("a", *self.BEFORE))
        assert [str(cut.status) for cut in found.cuts] == ["kept"]
        assert {str(n.status) for n in found.nodes} == {"kept"}
        assert {str(e.status) for e in found.edges} == {"kept"}

    def test_input_first_read_after_the_break(self):
        second = [source("l_y_", "y"), source("z"), op("add", "l_y_", "z"), output("add")]
        after = [source("x"), source("z"), op("mul", "x"), op("add", "mul", "z"), output("add")]
        found = diff(variant("b", [source("x"), op("mul", "x"), output("mul")], second), variant("a", after))
        assert {str(n.status) for n in found.nodes} == {"kept"}


class TestPairing:
    def test_names_alone_do_not_pair(self):
        here, there = Location("f.py", 1), Location("f.py", 2)
        before = [source("x"), op("mul", "x", at=(here,)), op("mul_1", "mul", at=(there,))]
        after = [source("x"), op("mul", "x", at=(there,))]
        found = diff(variant("b", before), variant("a", after))
        assert [(n.id, str(n.status)) for n in found.nodes if n.node.op != "placeholder"] == [
            ("before.0.mul", "removed"),
            ("after.0.mul", "kept"),
        ]

    def test_edges_decide_between_equals(self):
        before = [source("x"), op("sin", "x"), op("cos", "x"), op("neg", "sin"), op("neg_1", "cos")]
        after = [source("x"), op("sin", "x"), op("cos", "x"), op("neg", "cos")]
        found = diff(variant("b", before), variant("a", after))
        gone = [n.before for n in found.nodes if n.status is Status.REMOVED]
        assert [n.inputs for n in gone] == [("sin",)]

    def test_missing_variants(self):
        assert diff(None, None).nodes == ()
        assert {str(n.status) for n in diff(variant("b", BEFORE), None).nodes} == {"removed"}
        assert diff(variant("b", BEFORE), None, stage="aot_forward").nodes == ()

    def test_crossing_pairs_do_not_close_a_circle(self):
        a, b = Location("f.py", 1), Location("f.py", 2)
        before = [source("x"), op("sin", "x", at=(a,)), op("cos", "sin", at=(b,))]
        after = [source("x"), op("cos", "x", at=(b,)), op("sin", "cos", at=(a,))]
        found = diff(variant("b", before), variant("a", after))
        place = {name: k for k, name in enumerate(found.order)}
        assert all(place[e.source] < place[e.target] for e in found.edges)


@st.composite
def graphs(draw, least=1):
    nodes = [source("x")]
    for k in range(draw(st.integers(least, 30))):
        target = draw(st.sampled_from(["relu", "add", "mul"]))
        inputs = draw(st.lists(st.sampled_from([n.name for n in nodes]), min_size=1, max_size=2, unique=True))
        line = Location("f.py", draw(st.integers(1, 4)))
        module = draw(st.sampled_from([(), ("a",), ("a", "b")]))
        nodes.append(op(f"{target}_{k}", *inputs, target=target, at=(line,), module=module))
    return nodes


@given(graphs())
def test_itself_is_all_kept(nodes):
    found = diff(variant("b", nodes), variant("a", nodes))
    assert all(n.status is Status.KEPT and n.before == n.after for n in found.nodes)
    assert {str(e.status) for e in found.edges} <= {"kept"}


@given(graphs(), st.lists(st.tuples(st.integers(0, 29), st.sampled_from(["relu", "new"])), max_size=4))
def test_inserted_nodes_and_no_others_are_added(nodes, insertions):
    longer = list(nodes)
    for k, (at, target) in enumerate(insertions):
        at = min(at, len(longer) - 1) + 1
        longer.insert(at, op(f"{target}_9{k}", longer[at - 1].name, target=target, at=(Location("f.py", 1),)))
    found = diff(variant("b", nodes), variant("a", longer))
    assert found.count(Status.ADDED) == len(insertions)
    assert found.count(Status.KEPT) == len(nodes)
    back = diff(variant("b", longer), variant("a", nodes))
    assert (back.count(Status.REMOVED), back.count(Status.KEPT)) == (len(insertions), len(nodes))


@given(graphs(), graphs())
def test_every_node_stands_once_and_inputs_come_first(left, right):
    found = diff(variant("b", left), variant("a", right))
    assert sorted(n.before.name for n in found.nodes if n.before) == sorted(n.name for n in left)
    assert sorted(n.after.name for n in found.nodes if n.after) == sorted(n.name for n in right)
    place = {name: k for k, name in enumerate(found.order)}
    assert all(place[e.source] < place[e.target] for e in found.edges)
    assert found == diff(variant("b", left), variant("a", right))


@pytest.mark.parametrize("lines", [1, 3, 20_000])
def test_twenty_thousand_nodes(lines):
    nodes = [source("x")]
    for k in range(20_000):
        nodes.append(op(f"relu_{k}", nodes[-1].name, at=(Location("f.py", k % lines),)))
    longer = [*nodes[:9_000], op("relu_90000", "relu_5", at=(Location("f.py", 0),)), *nodes[9_000:]]
    start = time.process_time()
    found = diff(variant("b", nodes), variant("a", longer))
    assert time.process_time() - start < 6
    assert (found.count(Status.ADDED), found.count(Status.REMOVED)) == (1, 0)


class TestNamesThatABreakLoses:
    def test_stacked_value_is_the_input_it_was(self):
        before = [source("l_stack0_", "___stack0"), op("mul", "l_stack0_"), output("mul")]
        after = [source("l_x_", "x"), op("mul", "l_x_"), output("mul")]
        for found in (
            diff(variant("b", before), variant("a", after)),
            diff(variant("b", [source("l_x_", "x"), op("sum", "l_x_"), output("sum")], before), variant("a", after)),
        ):
            assert not found.count(Status.ADDED)
            assert {n.node.name for n in found.nodes if n.status is Status.REMOVED} <= {"sum"}

    def test_a_reason_that_changes_its_words(self):
        def broken(reason):
            first = Graph(0, "f", (source("x"), op("mul", "x"), output("mul")), break_reason=reason)
            return Variant("v", (first, Graph(1, "f (resumed)", (source("y"), op("add", "y"), output("add")))))

        found = diff(broken("generic_jump Lazy()"), broken("generic_jump Tensor()"))
        assert [str(cut.status) for cut in found.cuts] == ["kept"]
