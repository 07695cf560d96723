"""Text from a hostile program is text everywhere in the page, and a broken drawing is told."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

from page.shape import Desk, data_of
from sample import HOSTILE, hostile

pytest_plugins = ["page.fixtures"]


def hostile_page():
    made = hostile()
    desk = Desk(made)
    data, view = data_of(made), desk.view()
    text = "".join(HOSTILE) + "<img src=x onerror='window.hacked=1'>" + "<svg onload='window.hacked=1'>"
    detail = {
        "title": text,
        "facts": [[text, text]],
        "source": [{"place": text, "function": text, "line": text, "here": True}],
        "inputs": [[text, text]],
        "users": [[text, text]],
        "fold": {"call": text, "place": text, "verdict": text, "reason": text, "assumptions": [[text] * 4]},
        "value": {"text": text, "bytes": 1, "stats": [[text, text]], "heat": None},
    }
    data |= {
        "title": text,
        "verdict": text,
        "text": text,
        "stages": [text, text],
        "marks": [{"name": text, "place": text, "selected": False}, {"name": "f", "place": "", "selected": True}],
        "tables": [{"name": text, "columns": [text], "rows": [{"cells": [text], "nodes": [text]}], "more": 1}],
        "strip": [
            {
                "side": "before",
                "breaks": [[text, text]],
                "graphs": [{"name": text, "nodes": 1, "first": text, "breaks": [[text, text]]}] * 2,
            }
        ],
        "details": dict.fromkeys(data["details"], detail),
    }
    for box in view["boxes"].values():
        box["label"], box["tip"] = [text, text], [text, text]
    view["frames"] = dict.fromkeys(view["frames"], text)
    return data, view, text


INJECTED = (
    "<script>window.hacked=1</script><foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload='hacked=1'>"
    "<img src='http://127.0.0.1:9/x' onerror='window.hacked=1'/></body></foreignObject>"
    "<style>.constviz { display: none }</style><image href='http://127.0.0.1:9/x'/>"
    "<a href='javascript:window.hacked=1'><text x='5' y='-5' onclick='window.hacked=1' "
    "style='fill:url(http://127.0.0.1:9/y)' fill='url(http://127.0.0.1:9/z)'>click me</text></a>"
)


def test_hostile_text_is_text_everywhere(shown):
    data, view, text = hostile_page()
    view["svg"] = view["svg"].replace(
        "</g></svg>", f"<g class='node op kept' id='{next(iter(view['boxes']))}'>{INJECTED}</g></g></svg>"
    )
    assert "foreignObject" in view["svg"]
    shown.open(data, view)
    shown.find(".cv-fold >> visible=true").first.click(force=True)
    shown("model.set('status', { busy: true, text: '<img src=x onerror=window.hacked=1>', error: '' })")
    for tab in shown.find("[role=tab]").all():
        tab.click()
    shown.find("text=click me").first.dispatch_event("click")
    assert shown.find(".constviz").is_visible()
    assert shown("window.hacked") is None
    found = shown(
        "[...document.querySelectorAll('.constviz *')].flatMap((e) => [e.localName.toLowerCase(),"
        " ...[...e.attributes].filter((a) => /^on|href|^src/.test(a.name)).map((a) => a.name)])"
    )
    assert not {"script", "foreignobject", "style", "a", "img", "image", "body", "iframe"} & set(found)
    assert not [name for name in found if name.startswith("on") or "href" in name or name == "src"]
    clean = "(e) => e.textContent"
    assert shown.find(".cv-details h3").evaluate(clean) == text
    assert shown.find(".cv-report").evaluate(clean) == text
    assert shown.find("table td", has_text="javascript:alert(1)").first.evaluate(clean) == text
    with shown.page.expect_download() as download:
        shown.find("[aria-label='save SVG']").click()
    root = ET.parse(download.value.path()).getroot()
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        *("svg", "g", "title", "text", "rect", "path", "polygon", "polyline", "ellipse")
    }


TURNING = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


def test_characters_that_turn_text_around_are_shown_and_turn_nothing(shown, small):
    """Unseen, they would make a name look like another, and turn our own words around with it."""
    data, view = small
    text = "".join(f"{chr(code)}a" for code in TURNING)
    seen = "".join(f"⟨U+{code:04X}⟩a" for code in TURNING)
    made = hostile_page()
    data = json.loads(json.dumps(made[0]).replace(json.dumps(made[2])[1:-1], json.dumps(text)[1:-1]))
    shown.open(data, view)
    shown.find(".cv-fold >> visible=true").first.click(force=True)
    shown("(id) => model.set('selected', id)", next(iter(data["details"])))
    shown("(text) => model.set('status', { busy: true, text, error: '' })", text)
    shown.settle()
    said = shown(
        "[...document.querySelectorAll('.constviz, .constviz *')].flatMap((e) => [e.textContent, e.title ?? '',"
        " e.getAttribute('aria-label') ?? '', e.getAttribute('title') ?? '']).join('\\n')"
    )
    assert not {chr(code) for code in TURNING} & set(said)
    for place in (".cv-title", ".cv-details h3", ".cv-note", ".cv-report", ".cv-marks label code", ".cv-cut"):
        assert seen[:20] in shown.find(place).first.evaluate("(e) => e.textContent"), place


def test_a_name_that_is_read_from_the_right_turns_no_words_around_it(shown, small):
    data, view = small
    name = "שלום"
    marks = [{"name": name, "place": "12 3.py:4", "selected": True}]
    shown.open({**data, "marks": marks}, view)
    name, place = (shown.find(f".cv-marks label {part}").bounding_box() for part in ("code", ".cv-quiet"))
    assert name["x"] + name["width"] <= place["x"]
    for part in ("code", ".cv-quiet"):
        assert shown.find(f".cv-marks label {part}").evaluate("(e) => getComputedStyle(e).unicodeBidi") == "isolate"


def test_a_broken_drawing_is_told(shown, small):
    data, view = small
    shown.open(data, {**view, "svg": "<svg><g>"})
    assert "not well-formed" in shown.note()
