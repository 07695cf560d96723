"""What the front end is given besides drawings: tables, verdict, its size; and that text stays text in it."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import pandas as pd
import pytest
from large import transformer
from planned import payload_of, plan_of, strings, view_of
from sample import BREAK, CALL, FOLD, FOLDER, HOSTILE, comparison, hostile

from constviz.display.details import Details
from constviz.display.drawing import drawing
from constviz.display.labels import clean
from constviz.display.opening import Opening
from constviz.display.payload import payload, picture_name, plain, weight
from constviz.model import Assumption, Comparison, Fold, Graph, Location, Mark, Node, Outcome, Value, Variant, Verdict
from constviz.naming import goes_by

SVG = "{http://www.w3.org/2000/svg}"


class TestTables:
    def test_the_same_as_the_reports(self):
        data = payload_of(comparison())
        tables = {table["name"]: table for table in data["tables"]}
        assert list(tables) == ["summary", "folds", "assumptions", "graph breaks", "guards"]
        assert tables["summary"]["columns"][:3] == ["variant", "graphs", "graph_breaks"]
        assert [row["cells"] for row in tables["summary"]["rows"]] == [
            ["eager", "", "", "", "", "", "", ""],
            ["before", "1", "1", "3", "0", "0", "1", "0.25"],
            ["after", "1", "0", "1", "1", "32", "0", "0.125"],
        ]
        assert tables["guards"]["rows"][0]["cells"] == ["before", "EQUALS_MATCH", "CFG['n']", "4"]

    def test_rows_name_their_nodes(self):
        stale = Assumption("other, table", "CFG['n']", "EQUALS_MATCH", "4", "5", False)
        unread = Assumption("other", "K", "lead", "1")
        data = payload_of(comparison(assumptions=(stale, unread)))
        tables = {table["name"]: table["rows"] for table in data["tables"]}
        assert [row["nodes"] for row in tables["folds"]] == [["after.0.table_0", "before.0.arange", "before.0.add"]]
        assert [(row["nodes"], row["cells"][-2:]) for row in tables["assumptions"]] == [
            (["after.0.table_0"], ["5", "no"]),
            ([], ["", "unknown"]),
        ]

    def test_folds_that_folded_nothing_have_no_node(self):
        made = comparison()
        inert = Fold("1", "k", Outcome.INERT)
        after = replace(made.variants["after"], folds=(inert, FOLD))
        data = payload_of(replace(made, variants=made.variants | {"after": after}))
        (folds,) = [table["rows"] for table in data["tables"] if table["name"] == "folds"]
        assert [row["nodes"][:1] for row in folds] == [[], ["after.0.table_0"]]

    def test_graph_breaks_and_strip(self):
        nodes = comparison().variants["before"].graphs[0].nodes
        graphs = (Graph(0, "f", nodes, break_reason=BREAK.reason), Graph(1, "f (resumed)", nodes[:3]))
        before = Variant("before", graphs, graph_breaks=(BREAK,))
        made = Comparison("f", {"before": before, "after": Variant("after", (Graph(0, "f", nodes),))})
        data = payload_of(made)
        (rows,) = [table["rows"] for table in data["tables"] if table["name"] == "graph breaks"]
        assert [row["nodes"] for row in rows] == [["break.before.0"]]
        first, second = data["strip"]
        assert (first["side"], second["side"]) == ("before", "after")
        assert [(g["name"], g["nodes"], g["breaks"]) for g in first["graphs"]] == [
            ("f", 6, [["Unsupported: print", "net.py:9"]]),
            ("f (resumed)", 3, []),
        ]
        assert first["breaks"] == []
        plan = plan_of(made)
        for side in (first, second):
            for k, graph in enumerate(side["graphs"]):
                entry = plan.nodes[graph["first"]]
                assert (entry.graph_before if side is first else entry.graph_after) == k

    def test_more_tables_and_many_rows(self):
        timings = pd.DataFrame(
            {"median_us": [12.3456789, float("nan")]}, index=pd.Index(["before", "after"], name="variant")
        )
        many = pd.DataFrame({"n": range(1000), "ok": [True, False] * 500})
        tables = {t["name"]: t for t in payload_of(comparison(), extra={"timings": timings, "many": many})["tables"]}
        assert [row["cells"] for row in tables["timings"]["rows"]] == [["before", "12.35"], ["after", ""]]
        assert len(tables["many"]["rows"]) + tables["many"]["more"] == 1000
        assert tables["many"]["rows"][1]["cells"] == ["1", "no"]

    def test_marks_and_verdict(self):
        data = payload_of(comparison(), can_fold=True)
        assert data["marks"] == [{"name": "table", "place": "net.py:2", "selected": True}]
        assert (data["verdict"], data["can_fold"], data["stages"]) == ("not_folded", True, ["dynamo"])
        assert data["picture"] == picture_name(comparison())
        assert re.fullmatch("constviz diagram [0-9a-f]{8}", data["picture"])
        assert payload_of(transformer(100))["verdict"] == "conditional"

    def test_each_mark_is_chosen_by_a_name_that_means_no_other(self):
        """``scale`` means ``Layer.scale`` as well."""
        at = [Location("net.py", line) for line in (3, 7, 11)]
        marks = (Mark("scale", at[0]), Mark("Layer.scale", at[1]), Mark("scale", at[2]), Mark("mask", at[2]))
        told = payload_of(replace(comparison(), marks=marks))["marks"]
        for mark, row in zip(marks, told, strict=True):
            sent = row.get("choose", row["name"])
            assert [other for other in marks if sent in goes_by(other)] == [mark]
        assert "choose" not in told[3]


class TestSize:
    def test_small_graphs_bring_everything(self):
        data = payload_of(comparison(), room=20_000)
        plan = plan_of(comparison())
        assert list(data["nodes"]) == list(plan.tree.root.items())
        assert data["details"].keys() == plan.nodes.keys()
        assert weight(data) <= 20_000

    @pytest.mark.parametrize("room", [3_000, 6_000, 9_000, 12_000])
    def test_large_ones_are_asked(self, room):
        data = payload_of(comparison(), room=room)
        assert weight(data) <= max(room, weight(data | {"nodes": None, "details": None}))

    def test_no_room(self):
        data = payload_of(comparison())
        assert data["nodes"] is data["details"] is None

    def test_a_first_drawing_is_light(self):
        for nodes in (300, 5_700):
            assert weight(view_of(transformer(nodes), budget=100)) < 150_000

    def test_from_a_report_to_a_drawing(self):
        made = transformer(5_700)
        payload_of(comparison())  # pandas is imported
        start = time.process_time()
        plan = plan_of(made, budget=100)
        view = drawing(plan, plan.scene(Opening(plan.tree, 100).keys), stage="dynamo")
        data = payload(made, plan, room=180_000 - weight(view))
        assert time.process_time() - start < 1.5
        assert len(view["boxes"]) <= 100 and data["nodes"] is None


class TestHostileText:
    SURROGATE = "a\ud800b"

    def all_of(self, made):
        plan = plan_of(made)
        tell = Details(made, plan)
        told = [tell(name) for name in plan.diff.order]
        return plain([view_of(made), payload(made, plan, room=10**9), told])

    def test_it_is_only_text(self):
        for text in strings(self.all_of(hostile())):
            if text.startswith("<svg"):
                for element in ET.fromstring(text).iter():
                    assert element.tag.removeprefix(SVG) in {"svg", "g", "title", "text", "path", "polygon", "ellipse"}
                    assert not any(name.startswith("on") or "href" in name for name in element.attrib)

    @pytest.mark.parametrize("text", [text for text in HOSTILE if clean(text)])
    def test_it_comes_out_as_it_went_in(self, text):
        said = "\n".join(strings(self.all_of(hostile())))
        assert clean(text) in said

    def test_lone_surrogates_are_replaced(self):
        name = self.SURROGATE
        node = Node(name, "call_function", name, module=(name,), stack=(replace(CALL, source=name, function=name),),
                    arguments=name, value=Value(name, name))  # fmt: skip
        graph = (Graph(0, name, (node,), break_reason=name), Graph(1, name, (node,)))
        fold = Fold("0", name, Outcome.FOLDED, CALL, result=Value(name, name), consumers=(name,), graph=0, reason=name)
        after = Variant("after", graph, folds=(fold,))
        made = Comparison(name, {"after": after}, marks=(Mark(name),), notes=(name,))
        for text in strings(self.all_of(made)):
            text.encode()
        json.dumps(self.all_of(made), ensure_ascii=False).encode()

    def test_no_path_of_the_machine(self):
        assert FOLDER not in json.dumps(self.all_of(comparison()))


def test_the_same_comparison_gives_the_same():
    for make in (comparison, hostile, lambda: transformer(300)):
        assert view_of(make()) == view_of(make())
        assert payload_of(make(), room=10**9) == payload_of(make(), room=10**9)
    assert picture_name(comparison()) != picture_name(comparison(literal=True))


def test_verdicts_are_the_worst():
    made = comparison()
    folds = (replace(FOLD, verdict=Verdict.SOUND), Fold("1", "k", Outcome.FOLDED, verdict=Verdict.UNSOUND))
    after = replace(made.variants["after"], folds=folds)
    assert payload_of(replace(made, variants=made.variants | {"after": after}))["verdict"] == "unsound"
