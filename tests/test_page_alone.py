"""A saved page, with nobody to answer it: groups open, everything is found, under a strict policy too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page.shape import Desk, data_of, network, packed
from page.shown import FOLD, module, style

pytest_plugins = ["page.fixtures"]


@pytest.fixture
def saved(shown):
    made = network(3)
    desk = Desk(made, 8)
    view = desk.view()
    closed = [box["group"] for box in view["boxes"].values() if box["group"]]
    waiting, inner = list(closed), {}
    while waiting:
        key = waiting.pop()
        inner[key] = desk.inner(key)
        waiting += [b["group"] for b in inner[key]["boxes"].values() if b["group"] and b["group"] not in inner]
    data = data_of(made, inner={key: {"z": packed(drawn)["z"]} for key, drawn in inner.items()})
    shown.open(data, view, also="window.end = constviz.mount(document.querySelector('#host'), saved)")
    return shown, view, closed


def test_a_saved_page_opens_groups_and_goes_back(saved):
    shown, view, closed = saved
    box = next(i for i, b in view["boxes"].items() if b["group"] == closed[0])
    shown.find(".cv-pane").first.focus()
    shown.page.keyboard.press("ArrowUp")
    shown.settle()
    camera = shown.camera()
    shown.focus_box(f"[data-side=after] [data-box='{box}']")
    shown.page.keyboard.press("Enter")
    back = shown.find("button", has_text="back")
    back.wait_for()
    assert shown.find(f"[data-box='{box}']").count() == 0
    assert shown.find(".cv-close:visible").count() == 0
    back.click()
    shown.page.wait_for_selector(f"[data-box='{box}']", state="attached")
    shown.settle()
    assert shown.camera() == camera and not back.is_visible()


def test_a_saved_page_finds_and_tells_everything(saved):
    shown, _, _ = saved
    shown.search("gelu")
    assert shown.find(".cv-count").inner_text() == "3 found"
    for k in range(3):
        shown.find(".cv-search input").press("Enter")
        shown.page.wait_for_function(f"() => document.querySelector('.cv-details h3')?.textContent === 'gelu_{k}'")
        shown.page.wait_for_function("() => document.querySelectorAll('.cv-current').length === 2")
        assert shown.chosen()[0].startswith("gelu")
    assert shown.find(".cv-count").inner_text() == "3 of 3"
    assert shown.find(".cv-marks input").is_disabled()
    assert "saved page" in shown.find(".cv-marks label").get_attribute("title")
    assert shown.note() == ""
    shown("end()")
    assert shown.find(".constviz").count() == 0


def test_a_saved_page_prefers_the_drawing_a_node_belongs_to(saved):
    shown, _, _ = saved
    shown.search("up")
    for k in range(3):
        shown.find(".cv-search input").press("Enter")
        shown.page.wait_for_function(f"() => document.querySelector('.cv-details h3')?.textContent === 'up_{k}'")
        assert shown.find("[data-side=after] .cv-box", has_text="gelu").count() == 1
    shown.search("output")
    shown.find(".cv-search input").press("Enter")
    shown.page.wait_for_function("() => document.querySelector('.cv-details h3')?.textContent === 'output'")
    assert not shown.find("button", has_text="back").is_visible()


def test_a_saved_page_works_under_a_strict_policy(shown, small, tmp_path):
    data, view = small
    carried = json.dumps({"data": data, "view": view}).replace("<", "\\u003c")
    policy = "default-src 'none'; script-src 'nonce-x'; style-src 'unsafe-inline'; img-src data: blob:"
    start = "mount(document.querySelector('#host'), JSON.parse(document.querySelector('#constviz-data').textContent))"
    path = tmp_path / "saved.html"
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<style>{style()}</style><div id="host"></div>'
        f'<script type="application/json" id="constviz-data">{carried}</script>'
        f'<script type="module" nonce="x">{module()}\n{start}</script>',
        encoding="utf-8",
    )
    shown.page.goto(path.as_uri())
    shown.find(FOLD).click()
    assert shown.find(".cv-details h3").inner_text() == "table"
    with shown.page.expect_download() as download:
        shown.find("[aria-label='save PNG']").click()
    assert Path(download.value.path()).stat().st_size > 1000
    shown.requests.remove(path.as_uri())
