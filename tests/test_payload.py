"""What the front end is given: drawings, tables, details, what can be searched; and that text stays text in it."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import pandas as pd
import pytest
from large import transformer
from sample import BODY, BREAK, CALL, FOLD, FOLDER, HOSTILE, TENSOR, comparison, hostile

from constviz.analysis.diff import diff
from constviz.display.details import Details
from constviz.display.dot import draw
from constviz.display.drawing import drawing, drawings, slim
from constviz.display.labels import clean
from constviz.display.layout import LayoutError, svg, svgs
from constviz.display.opening import Opening
from constviz.display.payload import payload, picture_name, plain, weight
from constviz.display.scene import Plan
from constviz.display.searching import find, index
from constviz.model import Assumption, Comparison, Fold, Graph, Heat, Mark, Node, Outcome, Role, Value, Variant, Verdict

SVG = "{http://www.w3.org/2000/svg}"
KINDS = {"op", "input", "output", "constant", "fold", "break", "group"}
STATUSES = {"kept", "removed", "added", "constant"}


def plan_of(made, stage="dynamo", **options):
    variants = made.variants
    return Plan(diff(variants.get("before"), variants.get("after"), stage), brief=True, **options)


def view_of(made, budget=150):
    plan = plan_of(made)
    opening = Opening(plan.tree, budget)
    return drawing(plan, plan.scene(opening.keys, opening.asked), stage="dynamo")


def payload_of(made, **options):
    return payload(made, plan_of(made), **options)


def strings(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


class TestDrawing:
    def test_boxes(self):
        boxes = view_of(comparison())["boxes"]
        told = {box["node"]: (box["kind"], box["status"], box["before"], box["after"]) for box in boxes.values()}
        assert told == {
            "after.0.x": ("input", "kept", True, True),
            "before.0.arange": ("op", "removed", True, False),
            "before.0.add": ("op", "removed", True, False),
            "after.0.table_0": ("fold", "constant", False, True),
            "after.0.mul": ("op", "kept", True, True),
            "after.0.output": ("output", "kept", True, True),
        }
        assert {box["size"] for box in boxes.values()} == {1}
        assert {box["group"] for box in boxes.values()} == {None}

    def test_a_fold_and_what_it_stands_for_are_partners(self):
        boxes = view_of(comparison())["boxes"]
        ids = {box["node"]: name for name, box in boxes.items()}
        table, gone = ids["after.0.table_0"], [ids["before.0.arange"], ids["before.0.add"]]
        assert boxes[table]["partners"] == gone
        assert [boxes[name]["partners"] for name in gone] == [[table], [table]]
        assert boxes[ids["after.0.mul"]]["partners"] == []

    def test_lines(self):
        view = view_of(comparison())
        names = {name: box["node"].split(".")[-1] for name, box in view["boxes"].items()}
        lines = {(names[source], names[target], *rest) for source, target, *rest in view["lines"]}
        assert lines == {
            ("x", "mul", True, True, False),
            ("arange", "add", True, False, False),
            ("add", "mul", True, False, False),
            ("table_0", "mul", False, True, False),
            ("mul", "output", True, True, False),
            ("add", "table_0", True, True, True),
        }

    @pytest.mark.parametrize("made", [comparison(), comparison(literal=True), hostile(), transformer(300)])
    def test_the_svg_holds_what_is_told_and_nothing_else(self, made):
        view = view_of(made)
        root = ET.fromstring(view["svg"])
        groups = [g for g in root.iter(f"{SVG}g") if g.get("class")]
        nodes = {g.get("id"): g.get("class") for g in groups if g.get("class").startswith("node ")}
        assert nodes == {name: f"node {box['kind']} {box['status']}" for name, box in view["boxes"].items()}
        frames = {g.get("id") for g in groups if g.get("class") == "cluster"}
        assert frames == {f"frame-{key}" for key in view["frames"]}
        edges = [g.find(f"{SVG}title").text for g in groups if g.get("class") == "edge"]
        assert sorted(edges) == sorted(f"{line[0]}->{line[1]}" for line in view["lines"])
        assert {box["kind"] for box in view["boxes"].values()} <= KINDS
        assert {box["status"] for box in view["boxes"].values()} <= STATUSES
        for name, box in view["boxes"].items():
            (group,) = [g for g in groups if g.get("id") == name]
            assert [t.text.replace("\xa0", " ") for t in group.iter(f"{SVG}text")] == [
                line or None for line in box["label"]
            ]

    def test_slim_draws_the_same(self):
        source = draw(plan_of(transformer(300)).scene(()), legend=False, live=True).source
        full = svg(source)
        light = slim(full)
        assert len(light) < 0.75 * len(full)
        words = [[t.text for t in ET.fromstring(text).iter(f"{SVG}text")] for text in (full, light)]
        assert words[0] == words[1]
        assert all(t.text != "10.00" for t in ET.fromstring(light).iter())

    def test_groups_and_frames(self):
        made = transformer(300)
        plan = plan_of(made)
        view = view_of(made, budget=40)
        groups = {box["group"]: box for box in view["boxes"].values() if box["group"]}
        assert groups.keys() <= plan.tree.groups.keys()
        for key, box in groups.items():
            assert box["size"] == plan.tree.groups[key].size
            assert box["node"] is None
        assert view["frames"].keys().isdisjoint(groups)
        assert set(view["frames"].values()) <= {f"layers.{k} (Block)" for k in range(12)} | {"attn (Attention)"}

    def test_what_the_reader_opened_has_a_frame(self):
        nodes = [Node("x", "placeholder", "x", Role.INPUT)]
        nodes += [Node(f"n{k}", "call_function", "relu", inputs=(nodes[-1].name,)) for k in range(100)]
        graph = (Graph(0, "f", tuple(nodes)),)
        made = Comparison("f", {"before": Variant("before", graph), "after": Variant("after", graph)})
        plan = plan_of(made)
        opening = Opening(plan.tree, budget=4)
        opening.toggle("2")
        view = drawing(plan, plan.scene(opening.keys, opening.asked), stage="dynamo")
        assert view["frames"] == {"2": "32 nodes"}

    def test_insides(self):
        made = transformer(300)
        plan = plan_of(made)
        (key,) = [key for key, group in plan.tree.groups.items() if group.name == "mlp" and key.startswith("2.")]
        content = plan.inside(key)
        (view,) = drawings(plan, {key: content}, stage="dynamo")
        assert view == drawing(plan, content, stage="dynamo", inner_of=key)
        assert (view["inner_of"], view["frames"]) == (key, {})
        inside = [box["node"] for box in view["boxes"].values() if box["size"]]
        around = [box["node"] for box in view["boxes"].values() if not box["size"]]
        assert inside == [f"after.0.{op}_1_mlp_{k}" for k, op in enumerate(["linear", "gelu", "linear", "dropout"])]
        assert around == ["after.0.out_1_attn_10", "after.0.mean_1_norm_0"]
        assert len(view["lines"]) == 5

    def test_many_drawings_in_one_run(self):
        sources = ["digraph { a -> b }", "digraph { c }", 'digraph { d [label="</svg>"] }']
        assert svgs(sources) == [svg(source) for source in sources]
        with pytest.raises(LayoutError):
            svgs(["digraph { a }", "digraph { -> }"])

    def test_nothing_to_draw(self):
        view = view_of(Comparison("f", {"before": Variant("before"), "after": Variant("after")}))
        (box,) = view["boxes"].values()
        assert (box["label"], box["node"], box["group"], box["size"]) == (["no graph"], None, None, 0)


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
        assert [(g["name"], g["nodes"], g["reason"]) for g in first["graphs"]] == [
            ("f", 6, "Unsupported: print"),
            ("f (resumed)", 3, ""),
        ]
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
