"""What the front end is told of one node, and where search looks for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from large import transformer
from planned import plan_of
from sample import BODY, CALL, FOLD, TENSOR, comparison, hostile

from constviz.display.details import Details
from constviz.display.searching import find, index
from constviz.model import Assumption, Comparison, Graph, Heat, Variant


class TestDetails:
    def tell(self, made, name):
        plan = plan_of(made)
        return Details(made, plan)(name)

    def test_node(self):
        told = self.tell(comparison(), "after.0.mul")
        assert told["title"] == "mul"
        facts = dict(map(tuple, told["facts"]))
        assert (facts["target"], facts["shape"], facts["dtype"], facts["module"]) == (
            "mul", "[2, 4]", "float32", "fc (Linear)",
        )  # fmt: skip
        assert facts["parameter"] == "self.weight: f32[4, 4]"
        assert told["source"] == [
            {"place": "net.py:9", "function": "forward", "line": "return x * table(4)", "here": True}
        ]
        assert told["inputs"] == [
            ["after.0.x", "x"],
            ["after.0.w", "self.weight"],
            ["after.0.table_0", "+ table(n=4)"],
            ["before.0.add", "− add"],
        ]
        assert told["users"] == [["after.0.output", "output"]]
        assert told["fold"] is told["value"] is None

    def test_the_innermost_line_is_marked(self):
        told = self.tell(comparison(), "before.0.add")
        assert [(line["place"], line["here"]) for line in told["source"]] == [(CALL.short, False), (BODY.short, True)]
        assert told["fold"]["call"] == "table(n=4)"

    @pytest.mark.parametrize("literal", [False, True])
    def test_fold(self, literal):
        stale = Assumption("table", "CFG['n']", "EQUALS_MATCH", "4", "5", False)
        made = comparison(literal, assumptions=(stale, Assumption("other", "K", "lead", "1")))
        (link,) = plan_of(made).diff.folds
        told = self.tell(made, link.id)
        assert told["fold"] == {
            "call": "table(n=4)", "place": "net.py:9", "verdict": "", "reason": "called once",
            "assumptions": [["CFG['n']", "4", "5", "no"]],
        }  # fmt: skip
        assert (told["value"]["text"], told["value"]["bytes"]) == (("3.0", 0) if literal else (TENSOR.text, 32))
        assert ["stands for", "2 nodes of before"] in told["facts"]
        assert [name for name, _ in told["users"]] == ["after.0.mul"]

    def test_statistics_and_heat(self):
        heat = Heat(1, 4, (0.0, 1.0, None, float("nan")))
        value = replace(TENSOR, text="float32[1, 4]", nbytes=16, stats=(("min", "-1"), ("max", "2")), heat=heat)
        made = comparison()
        fold = replace(FOLD, result=value)
        after = replace(made.variants["after"], folds=(fold,))
        told = self.tell(replace(made, variants=made.variants | {"after": after}), "after.0.table_0")["value"]
        assert told == {
            "text": "float32[1, 4]", "bytes": 16, "stats": [["min", "-1"], ["max", "2"]],
            "heat": {"rows": 1, "cols": 4, "values": [0.0, 1.0, None, None]},
        }  # fmt: skip

    def test_graph_break(self):
        nodes = comparison().variants["before"].graphs[0].nodes
        graphs = (Graph(0, "f", nodes, break_reason="Unsupported: print"), Graph(1, "g", nodes))
        made = Comparison("f", {"before": Variant("before", graphs), "after": Variant("after")})
        told = self.tell(made, "break.before.0")
        assert told["facts"] == [["graph break", "Unsupported: print"], ["status", "only before folding"]]

    def test_what_is_not_there(self):
        with pytest.raises(KeyError):
            self.tell(comparison(), "after.0.nothing")

    @pytest.mark.parametrize("made", [comparison(), hostile(), transformer(100)])
    def test_every_link_leads_somewhere(self, made):
        plan = plan_of(made)
        tell = Details(made, plan)
        for name in (*plan.diff.order, *plan.hidden):
            told = tell(name)
            for link, label in told["inputs"] + told["users"]:
                assert tell(link) and isinstance(label, str)


class TestSearch:
    def hits(self, text, made=None):
        return find(index(plan_of(made or comparison())), text)

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("MUL", ["mul"]),
            ("call_function torch.arange", ["arange", "add"]),
            ("fc", ["mul"]),
            ("net.py:3", ["arange", "add"]),
            ("return arange", ["arange", "add"]),
            ("self.weight", ["mul"]),
            ("[1, 2, 3", ["table_0"]),
            ("placeholder", ["x"]),
            ("nothing", []),
            ("  ", []),
        ],
    )
    def test_where_words_are_looked_for(self, text, names):
        assert [name.split(".")[-1] for name in self.hits(text)] == names

    def test_in_the_order_of_the_drawing(self):
        found = self.hits("softmax", transformer(300))
        assert found == [f"after.0.softmax_{k}_attn_9" for k in range(len(found))]
        assert len(found) == 11

    def test_literal_folds_and_breaks(self):
        assert self.hits("table", comparison(literal=True))[-1].startswith(("fold.", "after."))
        assert any(name.startswith("fold.") for name in self.hits("table", comparison(literal=True)))
        nodes = comparison().variants["before"].graphs[0].nodes
        graphs = (Graph(0, "f", nodes, break_reason="Unsupported: print"), Graph(1, "g", nodes))
        made = Comparison("f", {"before": Variant("before", graphs), "after": Variant("after")})
        assert self.hits("unsupported", made) == ["break.before.0"]
