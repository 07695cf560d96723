"""Search and the way to the next fold: what is found, stepped through, and revealed in closed groups."""

from __future__ import annotations

import json

import pytest
from page.shape import Desk, box_like, data_of, network
from page.shown import FOLD, MUL

pytest_plugins = ["page.fixtures"]


def test_search_steps_through_all_hits_and_reveals_hidden_ones(shown):
    made = network(3)
    desk = Desk(made, 8)
    data, view = data_of(made), desk.view()
    assert not any("gelu" in box["label"] for box in view["boxes"].values())
    shown.open(
        data,
        view,
        "{ reveal: ({ node }) => { model.set('view', opened); model.set('selected', node); return { done: true } } }",
    )
    shown("(view) => { window.opened = view }", desk.after_reveal("after.0.gelu_0"))
    shown.search("GELU mlp")
    assert shown.find(".cv-count").inner_text() == "3 found"
    assert shown.sent("reveal") == []
    shown.page.keyboard.press("Enter")
    shown.page.wait_for_function("() => document.querySelector('.cv-chosen')")
    assert shown.sent("reveal") == [{"kind": "reveal", "node": "after.0.gelu_0"}]
    assert shown.find(".cv-count").inner_text() == "1 of 3"
    assert len(shown.chosen("cv-current")) == 2
    shown.page.keyboard.press("Shift+Enter")
    shown.page.wait_for_function("() => document.querySelector('.cv-count').textContent === '3 of 3'")
    assert shown.sent("reveal")[1:] == [{"kind": "reveal", "node": "after.0.gelu_2"}]
    shown.find("[aria-label='next hit']").click()
    assert shown.find(".cv-count").inner_text() == "1 of 3"
    assert shown.selected() == "after.0.gelu_0" and len(shown.sent("reveal")) == 2
    shown.find(".cv-search input").press("Escape")
    assert shown.find(".cv-search input").input_value() == ""
    assert shown.chosen("cv-hit") == [] and shown.find(".cv-count").inner_text() == ""


def test_search_marks_what_is_drawn_and_brings_it_into_view(shown, big):
    shown.open(*big)
    shown.search("gelu_13")
    shown.settle()
    hit, pane = shown.find("[data-side=before] .cv-hit").bounding_box(), shown.find(".cv-pane").first.bounding_box()
    assert pane["y"] < hit["y"] < pane["y"] + pane["height"]
    shown.search("no such thing")
    shown.page.wait_for_function("() => document.querySelector('.cv-count').textContent === 'none found'")
    assert shown.find("[aria-label='next hit']").is_disabled()


def test_search_by_message_when_there_is_no_index(shown, small):
    data, view = small
    hits = [[MUL, box_like(view, "mul")], ["after.0.x", box_like(view, "x")]]
    shown.open({**data, "nodes": None}, view, f"{{ search: () => ({{ hits: {json.dumps(hits)}, total: 900 }}) }}")
    shown.search("anything")
    assert shown.sent("search") == [{"kind": "search", "text": "anything"}]
    assert shown.find(".cv-count").inner_text() == "900 found"
    shown.page.keyboard.press("Enter")
    assert shown.find(".cv-count").inner_text() == "1 of 2 (900 found)"
    assert shown.selected() == MUL


def test_next_fold_reveals_folds_in_closed_boxes(shown):
    made = network(3)
    data, view = data_of(made), Desk(made, 8).view()
    shown.open({**data, "nodes": None}, view, "{ reveal: () => ({ error: 'that far' }) }")
    shown.find("button", has_text="next fold").click()
    shown.settle()
    assert shown.sent("reveal") == [{"kind": "reveal", "node": "after.0.table_0"}]
    assert shown.note() == "that far"


def test_next_fold(shown, big):
    shown.open(*big)
    shown.find(".cv-pane").first.focus()
    for _ in range(8):
        shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("n")
    shown.settle()
    assert "table" in shown.chosen()[0]
    assert shown.note() == "fold 1 of 1"
    assert shown.place(FOLD) == pytest.approx(shown("[document.querySelector('.cv-pane').clientWidth / 2, 230]"), abs=6)


def test_the_next_fold_leaves_a_drawing_that_is_seen_whole_and_takes_the_focus(shown, small):
    shown.open(*small)
    before = shown.transforms()
    shown.focus_box("[data-side=after] .cv-box[tabindex='0']")
    shown.page.keyboard.press("n")
    shown.page.wait_for_function("() => document.querySelector('.cv-chosen.cv-fold, .cv-chosen.cv-constant')")
    shown.settle()
    assert shown.transforms() == before
    focused = shown("() => document.activeElement.classList.contains('cv-chosen')")
    assert focused, "arrow keys would go on from the former box"


def test_reset_looks_at_the_drawing_from_the_start(shown, small):
    shown.open(*small, "{ reset: () => ({ done: true }) }")
    before = shown.transforms()
    shown.page.keyboard.press("Tab")
    shown.find("[aria-label='zoom in']").click()
    shown.settle()
    assert shown.transforms() != before
    shown.find("button", has_text="reset").click()
    shown.settle()
    assert shown.transforms() == before
