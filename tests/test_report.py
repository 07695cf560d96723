"""FoldReport: tables with fixed columns, files, and what a notebook shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import graphviz
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import FOLD, FOLDER, HOSTILE, TABLE, comparison, hostile

import constviz
from constviz.display import layout
from constviz.model import (
    Argument,
    Assumption,
    Comparison,
    Fold,
    Graph,
    Guard,
    Heat,
    Location,
    Node,
    Outcome,
    Role,
    Value,
    Variant,
)
from constviz.report import FoldReport, load
from constviz.saved import from_json, to_json

COLUMNS = {
    "summary": "graphs, graph_breaks, ops, constants, constant_bytes, guards, compile_s",
    "folds": "function, location, arguments, result, result_type, nbytes, outcome, verdict, reason, id",
    "graph_breaks": "variant, reason, location, hint",
    "guards": "variant, type, expression, value",
    "nodes": "graph, name, op, target, status, shape, dtype, module, location, id",
}
EMPTY = Comparison("f", {"before": Variant("before"), "after": Variant("after")})


@pytest.fixture
def report():
    return FoldReport(comparison())


class TestTables:
    @pytest.mark.parametrize("name", COLUMNS)
    @pytest.mark.parametrize("made", [comparison(), EMPTY, Comparison("f", {}), hostile()])
    def test_columns_are_always_there(self, name, made):
        table = getattr(FoldReport(made), name)
        frame = table() if callable(table) else table
        assert ", ".join(frame.columns) == COLUMNS[name]

    def test_summary(self, report):
        frame = report.summary
        assert list(frame.index) == ["eager", "before", "after"]
        assert frame.loc["before"].tolist() == [1, 1, 3, 0, 0, 1, 0.25]
        assert frame.loc["after"].tolist() == [1, 0, 1, 1, 32, 0, 0.125]
        assert frame.loc["eager"].isna().all()

    def test_constants_are_counted_once(self):
        again = Node("again", "get_attr", "mul_0", Role.CONSTANT, value=Value("[..]", "Tensor", nbytes=8))
        graph = Graph(0, "f", (TABLE, replace(again, name="mul_0"), again))
        literal = Fold("1", "k", Outcome.FOLDED, result=Value("3.0", "float"))
        failed = Fold("2", "k", Outcome.ERROR, result=Value("?", "Tensor", nbytes=1000))
        after = Variant("after", (graph,), folds=(FOLD, literal, failed))
        row = FoldReport(Comparison("f", {"after": after})).summary.loc["after"]
        assert (row["constants"], row["constant_bytes"]) == (3, 40)

    def test_folds(self, report):
        assert report.folds.values.tolist() == [
            [
                "table",
                "net.py:9",
                "n=4",
                "[1, 2, 3, 4] (int64[4])",
                "Tensor",
                32,
                "folded",
                "",
                "called once",
                "after.0.table_0",
            ]
        ]
        assert report.folds["nbytes"].dtype == "int64"

    def test_breaks_and_guards(self, report):
        assert report.graph_breaks.values.tolist() == [
            ["before", "Unsupported: print", "net.py:9", "Remove the print."]
        ]
        assert report.guards.values.tolist() == [["before", "EQUALS_MATCH", "CFG['n']", "4"]]

    def test_nodes(self, report):
        frame = report.nodes().set_index("name")
        assert frame["status"].to_dict() == {
            "x": "kept", "w": "kept", "arange": "removed", "add": "removed", "table_0": "constant", "mul": "kept",
            "output": "kept",
        }  # fmt: skip
        row = frame.loc["mul"]
        assert (row["shape"], row["dtype"], row["module"], row["location"]) == ((2, 4), "float32", "fc", "net.py:9")
        assert report.nodes("aot_forward").empty

    @pytest.mark.parametrize("made", [comparison(), comparison(literal=True), hostile()])
    def test_whatever_can_be_selected_has_a_row(self, made):
        report = FoldReport(made)
        selectable = {box["node"] for box in report.widget.view["boxes"].values() if box["node"]}
        ids = {*report.nodes()["id"], *report.folds["id"]}
        assert {name for name in selectable if not name.startswith("break")} <= ids
        assert [row["nodes"][0] for row in report.widget.data["tables"][1]["rows"]] == report.folds["id"].tolist()

    def test_a_folded_number_has_its_id_among_the_folds(self):
        report = FoldReport(comparison(literal=True))
        assert report.folds["id"].tolist() == ["fold.0"]
        assert "fold.0" in {box["node"] for box in report.widget.view["boxes"].values()}
        failed = replace(FOLD, outcome=Outcome.ERROR)
        assert FoldReport(Comparison("f", {"after": Variant("after", folds=(failed,))})).folds["id"].tolist() == [""]


class TestShown:
    def test_bundle(self, report):
        bundle = report._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "image/svg+xml", "text/html"}
        assert bundle["text/plain"] == repr(report) == str(report)
        assert ET.fromstring(bundle["image/svg+xml"]).tag.endswith("svg")
        assert FOLDER not in "".join(bundle.values())
        assert bundle == FoldReport(comparison())._repr_mimebundle_()

    def test_include_and_exclude(self, report):
        assert set(report._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
        assert set(report._repr_mimebundle_(exclude={"text/plain"})) == {"image/svg+xml", "text/html"}

    def test_without_an_engine(self, report, monkeypatch):
        monkeypatch.setattr(layout, "engines", list)
        bundle = report._repr_mimebundle_()
        assert set(bundle) == {"text/plain"}
        assert bundle["text/plain"].splitlines()[-1].startswith("no picture: no Graphviz found. To get pictures: pip")

    def test_ipython_takes_it(self, report):
        from IPython.core.formatters import DisplayFormatter

        data, _ = DisplayFormatter().format(report)
        assert set(data) == {"text/plain", "image/svg+xml", "text/html"}

    def test_empty_has_a_picture(self):
        assert "no graph" in FoldReport(EMPTY)._repr_mimebundle_()["image/svg+xml"]

    def test_parts(self, report):
        assert list(report.variants) == ["eager", "before", "after"]
        assert report.notes == ()
        assert report.comparison == comparison()
        assert isinstance(report.diagram(view="after"), graphviz.Digraph)


class TestFiles:
    def test_json(self, report, tmp_path):
        report.save(tmp_path / "r.json")
        again = load(str(tmp_path / "r.json"))
        assert again.comparison == report.comparison
        assert repr(again) == repr(report)
        pd.testing.assert_frame_equal(again.nodes(), report.nodes())
        assert again._repr_mimebundle_() == report._repr_mimebundle_()

    def test_svg_and_dot(self, report, tmp_path):
        report.save(tmp_path / "r.SVG")
        assert ET.parse(tmp_path / "r.SVG").getroot().tag.endswith("svg")
        report.save(tmp_path / "r.dot")
        assert (tmp_path / "r.dot").read_text(encoding="utf-8") == report.diagram().source

    def test_html_is_whole_and_offline(self, report, tmp_path):
        report.save(tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert text.startswith("<!DOCTYPE html>")
        assert "<svg" in text
        assert "net.py:9" in text
        assert FOLDER not in text
        assert not re.search(r'(src|href)="|@import|url\(|<script src|<link|"https?:(?!//www.w3.org/2000/svg")', text)
        assert "default-src 'none'" in text

    def test_html_without_an_engine(self, report, tmp_path, monkeypatch):
        monkeypatch.setattr(layout, "engines", list)
        report.save(tmp_path / "r.html")
        assert "<svg" not in (tmp_path / "r.html").read_text(encoding="utf-8")
        with pytest.raises(layout.LayoutError):
            report.save(tmp_path / "r.svg")
        assert not (tmp_path / "r.svg").exists()

    def test_hostile(self, tmp_path):
        report = FoldReport(hostile())
        for suffix in ("html", "json", "svg", "dot"):
            report.save(tmp_path / f"r.{suffix}")
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert not re.search(r"<(script|b|TABLE)>", page)
        assert load(tmp_path / "r.json").comparison == report.comparison

    @pytest.mark.parametrize("name", ["r.png", "r", "r.txt"])
    def test_unknown_suffix(self, report, tmp_path, name):
        with pytest.raises(ValueError, match=r"\.json, \.html, \.svg, \.dot"):
            report.save(tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="not there"):
            load(tmp_path / "none.json")
        with pytest.raises(FileNotFoundError, match="a folder"):
            load(tmp_path)

    @pytest.mark.parametrize(
        "content",
        [b"", b"not json", b"[]", b"{}", b"\xff\xfe", b'{"format": "other"}', b'{"format": "constviz-report"}'],
    )
    def test_wrong_content(self, tmp_path, content):
        path = tmp_path / "r.json"
        path.write_bytes(content)
        with pytest.raises(constviz.ReportFileError, match=r"r\.json"):
            load(path)

    def test_cut_short_or_newer(self, report, tmp_path):
        path = tmp_path / "r.json"
        report.save(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(constviz.ReportFileError, match="cut short"):
            load(path)
        path.write_text(json.dumps(json.loads(whole) | {"version": 99}))
        with pytest.raises(constviz.ReportFileError, match="99"):
            load(path)

    @pytest.mark.parametrize(
        "value", [10**30, -(10**30), 2**64 - 1, 2**63, -1, 1e308, 10**6, "", None, True, [], {}, [[]]]
    )
    def test_any_damage_is_told_or_can_be_shown(self, value):
        """One value of the file after the other is replaced: what loads can be looked at in every way."""
        whole = to_json(_with_a_picture())
        for where in _places(json.loads(whole)["report"]):
            damaged = json.loads(whole)
            inside = damaged["report"]
            for key in where[:-1]:
                inside = inside[key]
            inside[where[-1]] = value
            try:
                report = FoldReport(from_json(json.dumps(damaged)))
            except constviz.ReportFileError:
                continue
            tables = (report.summary, report.folds, report.assumptions, report.graph_breaks, report.guards)
            assert repr(report) and all(list(t.columns) for t in (*tables, report.nodes()))
            for node in (n for v in report.variants.values() for g in v.graphs for n in g.nodes if n.value):
                heat = node.value.heat
                assert heat is None or heat.rows * heat.cols == len(heat.values)

    def test_large_numbers_stay_what_they_are(self):
        fold = replace(FOLD, result=Value("t", "Tensor", nbytes=2**63 - 1))
        after = Variant("after", (Graph(0, "f", ()),), folds=(fold, replace(fold, id="1", node="other")))
        report = FoldReport(from_json(to_json(Comparison("f", {"after": after}))))
        assert report.folds["nbytes"].tolist() == [2**63 - 1] * 2
        assert report.folds["nbytes"].dtype == "int64"
        assert report.summary.loc["after", "constant_bytes"] == 2**64 - 2
        assert report.summary["graphs"].dtype == "Int64"

    def test_other_formats_are_named(self, report, tmp_path):
        report.save(tmp_path / "r.html")
        with pytest.raises(constviz.ReportFileError, match=r"\.json"):
            load(tmp_path / "r.html")


def _with_a_picture():
    made = comparison(fold=("table",), notes=("n",), assumptions=(Assumption("table", "CFG", "EQ", "1", "2", True),))
    after = made.variants["after"]
    value = Value("t", "Tensor", (2, 1), "float32", "cpu", 8, (("min", "1"),), Heat(2, 1, (0.5, None)))
    nodes = tuple(replace(node, value=value) if node.value else node for node in after.graphs[0].nodes)
    after = replace(after, graphs=(replace(after.graphs[0], nodes=nodes),), folds=(replace(FOLD, derived=("mul",)),))
    return replace(made, variants=made.variants | {"after": after})


def _places(value, where=()):
    """Where everything in a JSON value is, as keys from the outside in."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*where, key)
        yield from _places(item, (*where, key))


def test_showing_needs_no_torch():
    code = (
        "import sys, constviz.report, constviz.display.page, constviz.display.picture\n"
        "bad = {'torch', 'IPython', 'pandas'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- random comparisons ------------------------------------------------------------------------------------------

words = st.one_of(st.sampled_from(["x", "mul", "relu", *HOSTILE]), st.text(max_size=6).filter(str.isprintable))
places = st.builds(Location, words, st.integers(0, 99), words, words)
values = st.builds(Value, words, words, st.none() | st.tuples(st.integers(0, 9), words), nbytes=st.integers(0, 9))
nodes = st.builds(
    Node, words, st.sampled_from(["placeholder", "call_function", "get_attr", "output"]), words,
    st.sampled_from(Role), st.lists(words, max_size=2).map(tuple), words, st.none() | st.tuples(words),
    module=st.lists(words, max_size=2).map(tuple), stack=st.lists(places, max_size=2).map(tuple),
    value=st.none() | values, fold=st.none() | st.sampled_from(["0", "1"]),
)  # fmt: skip
made_graphs = st.builds(
    Graph, st.integers(0, 3), words, st.lists(nodes, max_size=6).map(tuple), break_reason=st.none() | words
)
made_folds = st.builds(
    Fold, st.sampled_from(["0", "1"]), words, st.sampled_from(Outcome), st.none() | places, st.none() | places,
    st.lists(st.builds(Argument, words, values), max_size=2).map(tuple), st.none() | values, words,
    graph=st.none() | st.integers(0, 3), node=st.none() | words, consumers=st.lists(words, max_size=2).map(tuple),
)  # fmt: skip


def made_variants(name):
    return st.builds(
        Variant, st.just(name), st.lists(made_graphs, max_size=3).map(tuple),
        guards=st.lists(st.builds(Guard, words, words), max_size=2).map(tuple),
        folds=st.lists(made_folds, max_size=2).map(tuple), compile_s=st.none() | st.floats(0, 9),
    )  # fmt: skip


comparisons = st.builds(
    Comparison, words, st.fixed_dictionaries({}, optional={n: made_variants(n) for n in ("before", "after")}),
    notes=st.lists(words, max_size=2).map(tuple),
)  # fmt: skip


@given(comparisons)
def test_json_round_trip(made):
    assert from_json(to_json(made)) == made


@given(comparisons)
def test_anything_can_be_shown(made):
    report = FoldReport(made)
    assert repr(report) == repr(FoldReport(from_json(to_json(made))))
    assert len(report.nodes()) <= sum(len(g.nodes) for v in made.variants.values() for g in v.graphs)
    assert report.diagram().source == FoldReport(made).diagram().source
    assert report.summary.index.tolist() == list(made.variants)
