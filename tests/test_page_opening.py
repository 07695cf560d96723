"""Groups of the diagram open and close in their place, whichever way they are asked to."""

from __future__ import annotations

import re

import pytest
from page.shape import Desk, data_of, network

pytest_plugins = ["page.fixtures"]

TOGGLE = "{ toggle: () => { model.set('view', next); return { done: true } } }"


@pytest.mark.parametrize("how", ["sign", "double click", "Enter", "panel"])
def test_a_group_opens_in_its_place(shown, how):
    made = network(3)
    desk = Desk(made, 8)
    view = desk.view()
    shown.open(data_of(made), view, TOGGLE)
    name = next(i for i, box in view["boxes"].items() if box["group"] and box["label"][0].startswith("mlp"))
    group = view["boxes"][name]["group"]
    anchor = {i for i, box in desk.after_toggle(group)["boxes"].items()} - set(view["boxes"])
    desk.opening.toggle(group)
    next_view = desk.after_toggle(group, anchor=min(anchor))
    shown("(view) => { window.next = view }", next_view)
    box = f"[data-side=after] [data-box='{name}']"
    shown.find(".cv-pane").first.focus()
    shown.page.keyboard.press("+")
    shown.settle()
    (x, y), (*_, zoom) = shown.place(f"{box} .cv-halo ~ polygon"), shown.camera()
    if how == "sign":
        shown.find(f"{box} .cv-open").click()
    elif how == "double click":
        shown.find(box).dblclick(position={"x": 20, "y": 20})
    elif how == "Enter":
        shown.focus_box(box)
        shown.page.keyboard.press("Enter")
    else:
        shown.find(box).click(position={"x": 20, "y": 20})
        assert shown.selected() == ""
        shown.find(".cv-details button", has_text="open").click()
    shown.page.wait_for_function("(n) => !document.querySelector(`[data-box='${n}']`)", arg=name)
    shown.settle()
    assert shown.sent("toggle") == [{"kind": "toggle", "group": group}]
    assert shown.camera()[2] == zoom
    assert shown.place(f"[data-side=after] [data-box='{min(anchor)}'] > polygon") == pytest.approx([x, y], abs=3)


@pytest.mark.parametrize("how", ["click", "keys", "double click", "panel"])
def test_a_frame_closes_in_its_place(shown, how):
    made = network(2)
    desk = Desk(made)
    view = desk.view()
    key = next(key for key, title in view["frames"].items() if title.startswith("mlp"))
    closed = desk.after_toggle(key)
    (anchor,) = [i for i, box in closed["boxes"].items() if box["group"] == key]
    shown.open(data_of(made), view, TOGGLE)
    shown("(view) => { window.next = view }", {**closed, "anchor": anchor})
    gelu = next(i for i, box in view["boxes"].items() if box["node"] == "after.0.gelu_0")
    shown("(id) => model.set('selected', id)", "after.0.gelu_0")
    shown.settle()
    frame = f"[data-side=after] [data-frame='{key}']"
    corner = shown(
        f"() => {{ const r = document.querySelector(`{frame} > polygon`).getBoundingClientRect(); return [r.x, r.y] }}"
    )
    close = shown.find(f"[data-side=after] [data-close='{key}']")
    assert close.get_attribute("aria-label").startswith("close mlp") and close.get_attribute("role") == "button"
    if how == "click":
        close.click()
    elif how == "double click":
        shown.find(f"{frame} > polygon").dblclick(position={"x": 4, "y": 40}, force=True)
    elif how == "panel":
        shown.find(".cv-details button", has_text="− mlp").click()
    else:
        shown.focus_box(f"[data-side=after] [data-box='{gelu}']")
        shown.page.keyboard.press("c")
        assert shown("document.activeElement.dataset.close") == key
        shown.page.keyboard.press("Enter")
    shown.page.wait_for_selector(f"[data-box='{anchor}']", state="attached")
    shown.settle()
    assert shown.sent("toggle") == [{"kind": "toggle", "group": key}]
    box = shown(
        "(id) => { const r = document.querySelector(`[data-side=after] [data-box='${id}'] > polygon`)"
        ".getBoundingClientRect(); return [r.x, r.y] }",
        anchor,
    )
    assert box == pytest.approx(corner, abs=6)


FIT = {"reset": "reset", "fit": "fit", "all": re.compile("^all$")}


@pytest.mark.parametrize("how", [*FIT, "by hand"])
def test_what_a_closed_frame_leaves_is_not_empty(shown, how):
    """After most of the drawing was closed away, the rest is in the middle and can be read."""
    made = network(2)
    desk = Desk(made)
    view = desk.view()
    key = next(key for key, title in view["frames"].items() if title.startswith("layers"))
    closed = desk.after_toggle(key)
    (anchor,) = [i for i, box in closed["boxes"].items() if box["group"] == key]
    answers = TOGGLE.replace("{ toggle", "{ reset: () => ({ done: true }), toggle", 1)
    shown.open(data_of(made), view, answers)
    shown("(view) => { window.next = view }", {**closed, "anchor": anchor})
    shown.find("button", has_text=FIT["all" if how == "by hand" else how]).click()
    shown.settle()
    if how == "by hand":
        shown.find(".cv-pane").nth(1).focus()
        shown.page.keyboard.press("ArrowDown")
    shown.find(f"[data-side=after] [data-close='{key}']").dispatch_event("click")
    shown.page.wait_for_selector(f"[data-box='{anchor}']", state="attached")
    shown.settle()
    pane, drawn = (shown.find(f"[data-side=after] {name}").bounding_box() for name in ("svg", ".cv-viewport"))
    above, below = drawn["y"] - pane["y"], pane["y"] + pane["height"] - drawn["y"] - drawn["height"]
    left, right = drawn["x"] - pane["x"], pane["x"] + pane["width"] - drawn["x"] - drawn["width"]
    assert min(above, below, left, right) > 0
    assert abs(above - below) < 40 and abs(left - right) < 40
    assert shown.camera()[2] > 0.75


def test_a_frame_that_is_closed_from_far_below_its_corner_leaves_its_box_in_view(shown):
    made = network(4)
    desk = Desk(made)
    view = desk.view()
    key = next(key for key, title in view["frames"].items() if title.startswith("1 "))
    closed = desk.after_toggle(key)
    (anchor,) = [i for i, box in closed["boxes"].items() if box["group"] == key]
    shown.open(data_of(made), view, TOGGLE)
    shown("(view) => { window.next = view }", {**closed, "anchor": anchor})
    shown("(id) => model.set('selected', id)", "after.0.ln_1")  # the last in its frame
    shown.settle()
    shown.find(".cv-details button", has_text="− 1 (Layer)").click()
    shown.page.wait_for_selector(f"[data-box='{anchor}']", state="attached")
    shown.settle()
    pane, box = shown.find("[data-side=after]").bounding_box(), shown.find(f"[data-side=after] [data-box='{anchor}']")
    assert pane["y"] < box.bounding_box()["y"] < pane["y"] + pane["height"] - 20
