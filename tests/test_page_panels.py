"""Beside the drawing: tabs and their rows, the width of the panel, the strip of graphs, the stages."""

from __future__ import annotations

import pytest
from page.shown import FOLD, MUL

pytest_plugins = ["page.fixtures"]


def test_tabs_and_rows(shown, small):
    shown.open(*small)
    tabs = shown.find("[role=tab]")
    assert tabs.all_inner_texts() == ["node", "report", "folds", "graph breaks"]
    tabs.nth(0).focus()
    shown.page.keyboard.press("ArrowRight")
    assert "1 call folded" in shown.find("[role=tabpanel]:visible").inner_text()
    shown.page.keyboard.press("End")
    assert "and 3 more rows" in shown.find("[role=tabpanel]:visible").inner_text()
    shown.page.keyboard.press("ArrowLeft")
    assert shown("document.activeElement.getAttribute('aria-selected')") == "true"
    row = shown.find("tr.cv-leads")
    row.focus()
    shown.page.keyboard.press("Enter")
    shown.settle()
    assert "table" in shown.chosen()[0] and row.get_attribute("aria-current") == "true"
    assert shown.find("[role=tabpanel]:visible table").count() == 1  # the tab stays
    shown.find(FOLD).click()
    assert row.is_visible()  # it tells of the fold
    shown.find("[data-side=after] .cv-output").click()
    assert row.get_attribute("aria-current") is None
    assert shown.find("[aria-selected=true]").inner_text() == "node"
    tabs.nth(2).click()
    row.click()
    assert shown.selected() == "after.0.table_0"


def test_the_panel_can_be_widened(shown, small):
    shown.open(*small)
    panel, border = shown.find(".cv-tabs"), shown.find("[role=separator]").bounding_box()
    width = panel.bounding_box()["width"]
    shown.page.mouse.move(border["x"] + 2, border["y"] + 50)
    shown.page.mouse.down()
    shown.page.mouse.move(border["x"] - 98, border["y"] + 50, steps=3)
    shown.page.mouse.up()
    assert panel.bounding_box()["width"] == pytest.approx(width + 100, abs=5)
    shown.page.keyboard.press("ArrowRight")
    assert panel.bounding_box()["width"] == pytest.approx(width + 76, abs=5)
    left, right = shown.transforms()
    assert left == right


def test_the_strip_shows_every_break_with_its_reason_and_place(shown, small):
    data, view = small
    reasons = [["a print", "net.py:3"], ["an input", "net.py:4"]]
    graphs = [
        {"name": "forward", "nodes": 3, "first": MUL, "breaks": reasons},
        {"name": "resume", "nodes": 1, "first": "after.0.output", "breaks": []},
    ]
    alone = [{**graphs[1], "breaks": []}]
    strip = [
        {"side": "before", "breaks": [], "graphs": graphs},
        {"side": "after", "breaks": [["a sleep", "net.py:2"]], "graphs": alone},
    ]
    shown.open({**data, "strip": strip}, view)
    before, after = shown.find(".cv-strip .cv-row").all()
    assert before.locator("button, .cv-cut").all_inner_texts() == [
        "1: forward · 3 nodes",
        "✂ a print net.py:3",
        "✂ an input net.py:4",
        "2: resume · 1 node",
    ]
    assert after.locator("button, .cv-cut").all_inner_texts() == ["✂ a sleep net.py:2", "1: resume · 1 node"]
    many = [[f"reason {k}", "net.py:1"] for k in range(8)]
    shown("(data) => model.set('data', data)", {**data, "strip": [{"side": "before", "breaks": many, "graphs": alone}]})
    words = shown.find(".cv-cut").all_inner_texts()
    assert words == ["✂ reason 0 net.py:1", "✂ reason 1 net.py:1", "✂ 6 more graph breaks"]
    rest = shown.find(".cv-cut").last.get_attribute("title")
    assert all(f"reason {k}" in rest for k in range(2, 8))
    shown("(data) => model.set('data', data)", {**data, "strip": [strip[1]]})
    assert shown.find(".cv-strip").is_visible()  # one graph alone, and yet a break


def test_several_graphs_have_a_strip_and_stages_a_selector(shown, small):
    data, view = small
    shown.open(data, view, "{ stage: () => ({ done: true }) }")
    assert not shown.find(".cv-strip").is_visible() and not shown.find("select").is_visible()
    reason = "Unsupported: a call of print that nobody expected, in the middle of it all"
    graphs = [
        {"name": "forward", "nodes": 3, "first": MUL, "breaks": [[reason, ""]]},
        {"name": "resume", "nodes": 1, "first": "after.0.output", "breaks": []},
    ]
    strip = [{"side": "before", "breaks": [], "graphs": graphs}, {"side": "after", "breaks": [], "graphs": graphs[1:]}]
    shown("(data) => model.set('data', data)", {**data, "strip": strip, "stages": ["dynamo", "aot"]})
    assert shown.find(".cv-strip button").all_inner_texts() == [
        "1: forward · 3 nodes",
        "2: resume · 1 node",
        "1: resume · 1 node",
    ]
    cut = shown.find(".cv-cut")
    assert cut.get_attribute("title") == f"graph break: {reason}" and len(cut.inner_text()) <= 42
    shown.find(".cv-strip button").nth(1).click()
    shown.settle()
    assert shown.selected() == "after.0.output"
    centre = shown(
        "[document.querySelector('.cv-pane').clientWidth / 2, document.querySelector('.cv-pane').clientHeight / 2]"
    )
    assert shown.place("[data-side=after] .cv-output .cv-halo ~ ellipse") == pytest.approx(centre, abs=2)
    shown.find("select").select_option("aot")
    assert shown.sent("stage") == [{"kind": "stage", "stage": "aot"}]
