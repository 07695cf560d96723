"""The pictures: what is on them, that views line up, and that no text of a user's becomes markup."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET

import pytest
from sample import FOLDER, HOSTILE, comparison, hostile

from constviz.analysis.diff import diff
from constviz.display.dot import diagram
from constviz.display.labels import clean, dot_text, middle
from constviz.display.layout import svg
from constviz.display.picture import picture
from constviz.model import Comparison, Graph, Node, Variant

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "g", "a", "title", "text", "path", "polygon", "polyline", "ellipse", "rect"}


def drawn(source):
    """Texts of each drawn box, and its rectangle, by id."""
    found = {}
    for group in ET.fromstring(svg(source)).iter(f"{SVG}g"):
        if "node" in (group.get("class") or "").split():
            shape = next(e for e in group.iter() if e.tag in (f"{SVG}polygon", f"{SVG}ellipse", f"{SVG}path"))
            place = shape.get("points") or shape.get("d") or (shape.get("cx"), shape.get("cy"))
            found[group.get("id")] = ([t.text for t in group.iter(f"{SVG}text")], place, shape)
    return found


def the_picture(made, **options):
    return picture(diff(made.variants["before"], made.variants["after"]), "Net", **options)


def test_diff_shows_what_became_of_each():
    boxes = drawn(diagram(comparison()).source)
    texts = sorted(tuple(lines) for lines, _, _ in boxes.values())
    assert texts == [
        ("+ table(n=4)", "net.py:9", "= [1, 2, 3, 4] (int64[4])"),
        ("mul", "f32[2, 4]"),
        ("output",),
        ("x", "f32[2, 4]"),
        ("− add", "i64[4]"),
        ("− arange", "i64[4]"),
    ]


def test_views_line_up():
    made = comparison()
    both, before, after = (drawn(diagram(made, view=view).source) for view in ("diff", "before", "after"))
    assert both.keys() == before.keys() | after.keys()
    assert {k: v[1] for k, v in both.items()} == {k: v[1] for k, v in {**before, **after}.items()}
    assert not any("table" in lines[0] for lines, _, _ in before.values())
    assert not any("arange" in lines[0] for lines, _, _ in after.values())


def test_never_colour_alone():
    boxes = drawn(diagram(comparison()).source).values()
    for lines, _, shape in boxes:
        assert (shape.get("stroke-dasharray") is not None) == lines[0].startswith("−")
        assert (shape.get("stroke-width") == "2.5") == lines[0].startswith("+")


def test_a_literal_has_a_box_and_an_edge():
    source = diagram(comparison(literal=True), view="after").source
    (box,) = [k for k, (lines, _, _) in drawn(source).items() if lines == ["+ table(n=4)", "net.py:9", "= 3.0"]]
    assert re.search(rf"\b{box} -> \w*mul\b", source)


def test_parameters_are_in_the_tooltip_of_their_user():
    source = diagram(comparison()).source
    assert "parameter self.weight: f32[4, 4]" in source
    assert not any("weight" in lines[0] for lines, _, _ in drawn(source).values())


def test_a_parameter_that_only_before_reads_is_shown():
    made = comparison()
    after = made.variants["after"]
    nodes = tuple(n for n in after.graphs[0].nodes if n.name != "w")
    variants = made.variants | {"after": Variant("after", (Graph(0, "forward", nodes),), folds=after.folds)}
    texts = [lines[0] for lines, _, _ in drawn(diagram(Comparison("f", variants)).source).values()]
    assert "− self.weight" in texts


def test_graphs_are_separated_by_the_reason():
    nodes = comparison().variants["before"].graphs[0].nodes
    graphs = (Graph(0, "f", nodes, break_reason="Unsupported: print"), Graph(1, "g", nodes))
    source = diagram(Comparison("f", {"before": Variant("before", graphs), "after": Variant("after")})).source
    assert ["graph break", "Unsupported: print"] in [lines for lines, _, _ in drawn(source).values()]


@pytest.mark.parametrize("view", ["before", "after", "diff"])
def test_plain_attributes_only(view):
    source = diagram(hostile(), view=view).source
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in re.findall(r'color="(.*?)"', source))
    assert not re.search(r"\b(URL|href|rank|xlabel|splines|concentrate|image)=", source)
    assert set(re.findall(r"fontname=(\S+?)[\s\]]", source)) == {"Helvetica"}
    assert not re.search(r"(label|tooltip)=<", source)


def test_unknown_view():
    with pytest.raises(ValueError, match="before, after, diff"):
        diagram(comparison(), view="both")


@pytest.mark.parametrize("stage", ["dynamo", "post_grad"])
def test_nothing_to_show(stage):
    made = Comparison("f", {"before": Variant("before"), "after": Variant("after")})
    (box,) = drawn(diagram(made, stage=stage).source).values()
    assert box[0] == ["no graph"]


class TestPicture:
    def test_side_by_side(self):
        root = ET.fromstring(the_picture(comparison()))
        words = [t.text for t in root.iter(f"{SVG}text")]
        assert words.count("mul") == 2
        assert words.count("− arange") == words.count("+ table(n=4)") == 1
        assert {"before", "after", "in both", "− only before", "+ constant burned in"} <= set(words)

    def test_one_pane_when_wide(self):
        nodes = [Node(f"op_{k}", "call_function", f"some_long_operation_{k}") for k in range(20)]
        graph = (Graph(0, "f", tuple(nodes)),)
        found = diff(Variant("before", graph), Variant("after", graph))
        words = [t.text for t in ET.fromstring(picture(found)).iter(f"{SVG}text")]
        assert words.count("some_long_operation_7") == 1

    def test_same_bytes_and_unique_ids(self):
        text = the_picture(comparison())
        assert text == the_picture(comparison())
        ids = re.findall(r'\sid="(.*?)"', text)
        assert len(ids) == len(set(ids)) > 10
        assert not set(ids) & set(re.findall(r'\sid="(.*?)"', the_picture(comparison(literal=True))))

    def test_no_path_of_the_machine(self):
        assert FOLDER not in the_picture(comparison())

    def test_large(self):
        nodes = [Node("x", "placeholder", "x")]
        for k in range(20_000):
            nodes.append(
                Node(f"r_{k}", "call_function", "relu", inputs=(nodes[-1].name,), module=(f"layers.{k // 50}",))
            )
        graph = (Graph(0, "f", tuple(nodes)),)
        found = diff(Variant("before", graph), Variant("after", graph))
        start = time.process_time()
        text = picture(found)
        assert time.process_time() - start < 4
        assert len(text) < 400_000


@pytest.mark.parametrize("prefix", [None, "p-"])
def test_hostile_text_stays_text(prefix):
    for text in (the_picture(hostile(), prefix=prefix), svg(diagram(hostile()).source)):
        for element in ET.fromstring(text).iter():
            assert element.tag.removeprefix(SVG) in ALLOWED
            for name in element.attrib:
                assert not name.lower().startswith("on")
                assert name.rsplit("}", 1)[-1] not in ("href", "style")


@pytest.mark.parametrize("text", [t for t in HOSTILE if clean(t)])
def test_text_comes_out_as_it_went_in(text):
    source = f"digraph {{ a [label={quoted(text)}] }}"
    (label,) = [t.text for t in ET.fromstring(svg(source)).iter(f"{SVG}text")]
    assert label.replace("\xa0", " ") == clean(text)


def quoted(text):
    import graphviz

    return graphviz.quoting.quote(dot_text([text]))


def test_surrogates_and_controls_are_dropped():
    assert clean("a\ud800\x00b\nc") == "a b c"
    assert middle("x" * 50, 11) == "xxxxx…xxxxx"
