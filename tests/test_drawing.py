"""Drawings as the front end is given them: boxes, lines, groups and frames, told as they are in the SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from large import transformer
from planned import plan_of, view_of
from sample import comparison, hostile

from constviz.display.dot import draw
from constviz.display.drawing import drawing, drawings, slim
from constviz.display.layout import LayoutError, svg, svgs
from constviz.display.opening import Opening
from constviz.model import Comparison, Graph, Node, Role, Variant

SVG = "{http://www.w3.org/2000/svg}"
KINDS = {"op", "input", "output", "constant", "fold", "break", "group"}
STATUSES = {"kept", "removed", "added", "constant"}


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
