"""A box that is chosen or pointed at, by mouse, keys or Python: its details, its partners, its neighbours."""

from __future__ import annotations

import json

from page.shape import box_like
from page.shown import FOLD, MUL

pytest_plugins = ["page.fixtures"]


def test_a_click_selects_in_both_panes_and_tells_details(shown, small):
    shown.open(*small)
    shown.find("[data-side=before] .cv-op.cv-kept").click()
    assert shown.selected() == MUL
    assert shown("model.saved") == 1
    assert len(shown.chosen()) == 2
    details = shown.find(".cv-details")
    assert details.locator("h3").inner_text() == "mul"
    assert "call_function" in details.inner_text() and "[2, 4]" in details.inner_text()
    assert details.locator(".cv-here code").inner_text() == "return x * table(4)"
    shown.find(".cv-links button", has_text="add").click()
    assert shown.selected() == "before.0.add"
    assert [text for text in shown.chosen() if "add" in text] == shown.chosen() and shown.chosen()


def test_the_line_that_made_a_node_comes_first_and_its_callers_after_it(shown, small):
    data, view = small
    calls = [("train.py:90", "train", "loss = step(batch)"), ("net.py:31", "step", "y = net(x)")]
    lines = [{"place": place, "function": function, "line": line, "here": False} for place, function, line in calls] + [
        {"place": "net.py:9", "function": "forward", "line": "return x * table(4)", "here": True}
    ]
    details = {**data["details"], MUL: {**data["details"][MUL], "source": lines}}
    shown.open({**data, "details": details}, view)
    shown("(id) => model.set('selected', id)", MUL)
    shown.settle()
    items = shown.find(".cv-source li")
    assert items.locator("code").all_inner_texts() == ["return x * table(4)", "y = net(x)", "loss = step(batch)"]
    assert [item.get_attribute("aria-current") for item in items.all()] == ["true", None, None]
    places = items.locator("span").all_inner_texts()
    assert places[0].startswith("net.py:9")
    assert "called from net.py:31" in places[1] and "called from train.py:90" in places[2]


def test_a_fold_has_partners_verdict_assumptions_value_and_heat_map(shown, small):
    shown.open(*small)
    shown.find(FOLD).click()
    assert {text.split()[1].rstrip("i64[]") for text in shown.chosen("cv-partner")} == {"arange", "add"}
    details = shown.find(".cv-details")
    assert details.locator("[data-verdict]").inner_text() == "conditional"
    assert details.locator("[data-holds=no]").inner_text() == "no"
    assert "tensor([1, 2, 3, 4])" in details.inner_text() and "32 bytes" in details.inner_text()
    heat = details.locator("canvas")
    assert "2 by 2" in heat.get_attribute("aria-label")
    dots = heat.evaluate(
        "(c) => [[2, 2], [14, 30]].map(([x, y]) => [...c.getContext('2d').getImageData(x * c.width / 32,"
        " y * c.height / 32, 1, 1).data.slice(0, 3)])"
    )
    assert sum(dots[0]) < 150  # the least is dark
    assert dots[1] != dots[0]


def test_details_come_by_message_and_a_selection_from_python_is_shown(shown, small):
    data, view = small
    details = data["details"]
    answers = f"{{ details: ({{ node }}) => ({{ details: {json.dumps(details)}[node] }}) }}"
    shown.open({**data, "details": None, "nodes": None}, view, answers)
    shown("(id) => model.set('selected', id)", MUL)
    assert len(shown.chosen()) == 2
    shown.page.wait_for_selector(".cv-details h3")
    assert shown.sent("details") == [{"kind": "details", "node": MUL}]
    assert shown.find(".cv-details h3").inner_text() == "mul"
    shown("model.set('selected', '')")
    assert shown.chosen() == []
    shown("(id) => model.set('selected', id)", MUL)
    assert len(shown.sent("details")) == 1  # it is known by now
    assert shown("model.saved") == 0


def test_hover_lights_neighbours_and_dims_the_rest(shown, small):
    shown.open(*small)
    shown.find(FOLD).hover()
    opacity = "(e) => getComputedStyle(e).fillOpacity"
    boxes = {
        name: float(shown.find("[data-side=after] .cv-box", has_text=name).evaluate(opacity))
        for name in ("table(n=4)", "mul", "output")
    }
    assert boxes == {"table(n=4)": 1, "mul": 1, "output": 0.22}
    tip = shown.find(".cv-tip")
    assert tip.is_visible() and "called at net.py:9" in tip.inner_text()
    shown.find(".cv-foot").hover()
    assert not tip.is_visible()
    assert float(shown.find("[data-side=after] .cv-output").evaluate(opacity)) == 1


def test_arrow_keys_follow_edges_rather_than_the_nearest_box(shown, small):
    data, view = small
    x, mul, output = (box_like(view, text) for text in ("x", "mul", "output"))
    lines = [line for line in view["lines"] if line[:2] != [x, mul]]
    shown.open(data, {**view, "lines": [*lines, [x, output, True, True, False]]})
    shown.focus_box(f"[data-side=after] [data-box='{x}']")
    shown.page.keyboard.press("ArrowDown")
    assert shown("document.activeElement.dataset.box") == output


def test_keyboard_walk(shown, small):
    shown.open(*small)
    stops = shown.find(".cv-box[tabindex='0']")
    assert stops.count() == 2  # Tab enters each pane once
    shown.focus_box("[data-side=after] .cv-input")
    here = "document.activeElement.textContent"
    shown.page.keyboard.press("ArrowDown")
    assert "mul" in shown(here)
    shown.page.keyboard.press("ArrowDown")
    assert "output" in shown(here)
    assert shown.find(".cv-tip").is_visible()
    shown.page.keyboard.press("ArrowUp")
    shown.page.keyboard.press("ArrowUp")
    assert "table" in shown(here)
    shown.page.keyboard.press("ArrowLeft")
    assert shown(here).startswith("x")
    shown.page.keyboard.press("Enter")
    assert shown.selected() == "after.0.x"
    shown.page.keyboard.press("Escape")
    assert shown.selected() == ""
    assert shown("document.activeElement.tabIndex") == 0 and stops.count() == 2
    assert "x" in shown.find("[data-side=after] .cv-input").get_attribute("aria-label")
