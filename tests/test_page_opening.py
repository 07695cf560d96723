"""Groups of the diagram open and close in their place, whichever way they are asked to."""

from __future__ import annotations

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
