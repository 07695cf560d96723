"""Two panes under one camera: what each shows, and how both are moved, zoomed and fitted."""

from __future__ import annotations

import re

import pytest
from page.shown import FOLD, MUL

pytest_plugins = ["page.fixtures"]

ALL = re.compile("^all$")

VISIBLE = """(group) => [...group.querySelectorAll("text")].filter((text) => text.getBoundingClientRect().width)
    .map((text) => text.textContent).join()"""


def test_each_pane_lacks_what_only_the_other_has(shown, small):
    shown.open(*small)
    for side, texts in (("before", "− arange"), ("after", "+ table(n=4)")):
        words = shown.find(f"[data-side={side}] .cv-viewport").evaluate(VISIBLE)
        other = shown.find(f"[data-side={'after' if side == 'before' else 'before'}] .cv-viewport").evaluate(VISIBLE)
        assert texts in words
        assert texts not in other
        assert "mul" in words and "mul" in other


def test_statuses_are_told_apart_without_colour(shown, small):
    shown.open(*small)
    look = "(e) => [getComputedStyle(e).strokeDasharray, parseFloat(getComputedStyle(e).strokeWidth)]"
    removed = shown.find("[data-side=before] .cv-removed.cv-box > polygon").first.evaluate(look)
    constant = shown.find(f"{FOLD} > polygon").evaluate(look)
    kept = shown.find("[data-side=after] .cv-op.cv-kept > polygon").evaluate(look)
    assert removed[0] != "none" and constant[1] == 2.5 and kept == ["none", 1]


def test_a_drag_moves_both_panes_to_the_pixel(shown, small):
    shown.open(*small)
    shown("(id) => model.set('selected', id)", MUL)
    before = shown.place("[data-side=before] .cv-output"), shown.place("[data-side=after] .cv-output")
    assert before[0] == pytest.approx(before[1], abs=0.01)
    pane = shown.find(".cv-pane").first.bounding_box()
    x, y = (round(pane[way] + at) for way, at in zip("xy", before[0], strict=True))  # on a box, which it takes along
    shown.page.mouse.move(x, y)
    shown.page.mouse.down()
    shown.page.mouse.move(x + 40, y - 20, steps=3)
    shown.page.mouse.move(x + 73, y - 41, steps=3)
    shown.page.mouse.up()
    shown.settle()
    for side, (x, y) in zip(("before", "after"), before, strict=True):
        assert shown.place(f"[data-side={side}] .cv-output") == pytest.approx([x + 73, y - 41], abs=0.01)
    assert shown.selected() == MUL  # the end of a drag is no click


def test_the_wheel_zooms_with_ctrl_or_focus_by_keyboard_and_else_scrolls_the_page(shown, small):
    shown.open(*small, body="<div id=host></div><div style='height:2000px'></div>")
    pane = shown.find(".cv-pane").nth(1).bounding_box()
    left, top = round(pane["x"]) + 120, round(pane["y"]) + 200
    shown.page.mouse.move(left, top)
    start = shown.camera()
    shown.page.mouse.wheel(0, 60)
    shown.page.wait_for_function("scrollY > 0")
    assert shown.camera() == start
    shown("scrollTo(0, 0)")
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -100)
    shown.page.keyboard.up("Control")
    shown.settle()
    x, y, k = shown.camera()
    assert k > start[2] * 1.1
    for at, (now, then) in (
        (left - pane["x"], (x, start[0])),
        (top - pane["y"], (y, start[1])),
    ):  # what is under the pointer stays there
        assert (at - now) / k == pytest.approx((at - then) / start[2], abs=0.05)
    shown.find(".cv-splitter").evaluate("(e) => e.focus()")
    shown.page.keyboard.press("Shift+Tab")  # into the pane, as those do who have no pointer
    shown.page.mouse.wheel(0, 100)
    shown.settle()
    assert shown.camera()[2] == pytest.approx(start[2], rel=0.01)
    assert shown("scrollY") == 0


@pytest.mark.parametrize("at", [".cv-output", ".cv-viewport"])
def test_after_a_click_the_wheel_still_scrolls_the_page_and_a_hint_says_how_to_zoom(shown_by_clock, small, at):
    shown = shown_by_clock
    shown.open(*small, body="<div id=host></div><div style='height:2000px'></div>")
    pane = shown.find("[data-side=after]")
    hint = pane.locator(".cv-hint")
    if at == ".cv-output":
        pane.locator(at).click()
    else:
        pane.click(position={"x": 5, "y": 200})  # where nothing is drawn
    assert shown("document.activeElement.closest('.cv-pane').dataset.side") == "after"
    start = shown.camera()
    assert hint.count() == 0
    shown.page.mouse.wheel(0, 60)
    shown.page.wait_for_function("scrollY > 0")
    assert shown.camera() == start
    assert "wheel to zoom" in hint.inner_text()
    shown.page.clock.run_for(1300)
    assert hint.count() == 0
    shown("addEventListener('wheel', () => { window.turned = true })")
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -100)
    shown.page.wait_for_function("window.turned", polling=50)
    shown.page.keyboard.up("Control")
    shown.page.clock.run_for(100)
    assert shown.camera()[2] > start[2] and hint.count() == 0


def test_two_fingers_zoom(shown, small):
    shown.open(*small)
    start = shown.camera()
    shown(
        """() => {
            const pane = document.querySelector(".cv-pane");
            const { x, y } = pane.getBoundingClientRect();
            pane.setPointerCapture = () => {};
            const send = (type, id, dx) => pane.dispatchEvent(new PointerEvent(type,
                { pointerId: id, clientX: x + dx, clientY: y + 100, bubbles: true, pointerType: "touch" }));
            send("pointerdown", 1, 100); send("pointerdown", 2, 200);
            send("pointermove", 1, 50); send("pointermove", 2, 250);
            send("pointerup", 1, 50); send("pointerup", 2, 250);
        }"""
    )
    shown.settle()
    x, y, k = shown.camera()
    assert k == pytest.approx(2 * start[2], rel=1e-6)
    assert [(150 - x) / k, (100 - y) / k] == pytest.approx([(150 - start[0]) / start[2], (100 - start[1]) / start[2]])


def test_keys_zoom_and_move(shown, small):
    shown.open(*small)
    shown.find(".cv-pane").first.focus()
    x, y, k = shown.camera()
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("ArrowUp")
    shown.settle()
    assert shown.camera() == pytest.approx((x - 60, y + 60, k))
    shown.page.keyboard.press("+")
    shown.settle()
    assert shown.camera()[2] == pytest.approx(1.25 * k)
    shown.page.keyboard.press("-")
    shown.page.keyboard.press("-")
    shown.settle()
    assert shown.camera()[2] == pytest.approx(0.8 * k)
    shown.page.keyboard.press("0")
    shown.settle()
    assert shown.camera() == pytest.approx((x, y, k))


def test_a_large_drawing_begins_readable_at_its_fold_and_all_of_it_can_be_shown(shown, big):
    shown.open(*big)
    assert shown.camera()[2] > 0.75
    fold, pane = shown.find(FOLD).bounding_box(), shown.find(".cv-pane").nth(1).bounding_box()
    assert pane["x"] < fold["x"] and fold["x"] + fold["width"] < pane["x"] + pane["width"]
    assert pane["y"] < fold["y"] and fold["y"] + fold["height"] < pane["y"] + pane["height"]
    for how in ("button", "key"):
        shown.find("button", has_text="fit").click()
        if how == "button":
            shown.find("button", has_text=ALL).click()
        else:
            shown.find(".cv-pane").first.focus()
            shown.page.keyboard.press("0")
        shown.settle()
        whole = shown.find("[data-side=after] .cv-viewport").bounding_box()
        assert whole["y"] >= pane["y"] and whole["y"] + whole["height"] <= pane["y"] + pane["height"]


@pytest.mark.parametrize("how", ["first", "reset", "fit"])
def test_a_tall_drawing_is_shown_from_its_top_at_a_size_that_can_be_read(shown, big, how):
    shown.open(*big, "{ reset: () => ({ done: true }) }")
    if how != "first":
        shown.find("button", has_text=ALL).click()
        shown.settle()
        assert shown.camera()[2] < 0.1  # a sliver
        shown.find("button", has_text=how).click()
        shown.settle()
    font = shown.find("[data-side=after] .cv-input text").first.evaluate("(e) => e.getBoundingClientRect().height")
    top, pane = shown.find("[data-side=after] .cv-input").bounding_box(), shown.find(".cv-pane").nth(1).bounding_box()
    assert font > 9
    assert pane["y"] < top["y"] < pane["y"] + 60
    drawn = shown.find("[data-side=after] .cv-viewport").bounding_box()
    assert drawn["width"] > 0.7 * pane["width"]


def test_a_wide_pane_is_looked_at_anew_as_it_was_asked_for(shown, big):
    shown.open(*big)
    shown.find("button", has_text=ALL).click()
    shown.settle()
    small = shown.camera()[2]
    shown.find(".cv-stage").evaluate("(e) => { e.style.height = '700px' }")
    shown.settle()
    assert shown.camera()[2] > 1.2 * small
    whole, pane = (shown.find(name).first.bounding_box() for name in (".cv-viewport", ".cv-pane"))
    assert whole["y"] >= pane["y"] and whole["y"] + whole["height"] <= pane["y"] + pane["height"]


def test_one_pane_and_ghosts(shown, small):
    shown.open(*small)
    modes = shown.find("[role=radio]")
    arange = shown.find("[data-side=after] .cv-box", has_text="arange")
    became = shown.find("[data-side=after] .cv-became")
    assert not arange.is_visible() and became.count() == 1 and not became.is_visible()
    modes.filter(has_text="ghosts").click()
    assert not shown.find("[data-side=before]").is_visible()
    assert arange.is_visible() and became.is_visible()
    assert float(arange.evaluate("(e) => getComputedStyle(e).fillOpacity")) < 0.5
    shown.page.keyboard.press("ArrowLeft")
    assert shown.find("[aria-checked=true]").inner_text() == "after"
    assert not arange.is_visible() and shown.find(FOLD).is_visible()
    modes.filter(has_text="before").click()
    assert not shown.find("[data-side=after]").is_visible()
    modes.filter(has_text="both").click()
    assert shown.find(".cv-pane:visible").count() == 2
