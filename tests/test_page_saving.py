"""A picture saved from the page, as SVG and as PNG, looks like what was shown."""

from __future__ import annotations

import base64
import struct
import xml.etree.ElementTree as ET

import pytest

pytest_plugins = ["page.fixtures"]


def test_save_svg(shown, small, tmp_path):
    shown.open(*small)
    with shown.page.expect_download() as download:
        shown.find("[aria-label='save SVG']").click()
    path = tmp_path / "out.svg"
    download.value.save_as(path)
    assert download.value.suggested_filename == "constviz.svg"
    root = ET.parse(path).getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"before", "after", "− arange", "+ table(n=4)"} <= set(texts)
    assert texts.count("mul") == 2 and texts.count("− arange") == 1
    words = path.read_text(encoding="utf-8")
    assert not any(part in words for part in ("class=", "style", "var(", "href", "data-"))
    assert 'fill="#a6d5f2"' in words and 'stroke-dasharray="5,2"' in words
    # what was saved looks like what was shown, so it can be drawn alone
    shown.page.set_content(f"<img src='data:image/svg+xml;base64,{base64.b64encode(words.encode()).decode()}'>")
    shown.page.wait_for_function("() => document.querySelector('img').naturalWidth > 300")


def test_save_png_of_one_pane(shown, small, tmp_path):
    shown.open(*small)
    shown.find("[role=radio]", has_text="after").click()
    shown.settle()
    with shown.page.expect_download() as download:
        shown.find("[aria-label='save PNG']").click()
    path = tmp_path / "out.png"
    download.value.save_as(path)
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    pane = shown.find("[data-side=after]").bounding_box()
    assert width == pytest.approx(2 * pane["width"], abs=4) and height > 2 * pane["height"]
