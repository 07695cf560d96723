"""Drawings for the front end: a light SVG, and what each box in it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .dot import draw
from .labels import clean
from .layout import svg, svgs
from .scene import Box, Frame, Plan, Scene

__all__ = ["drawing", "drawings", "slim"]

_TIP = 120  # characters of one line of a tooltip
_TITLE = re.compile(r'(<g id="[^"]*" class="(?:node|cluster|graph)[^"]*"[^>]*>)\n<title>[^<]*</title>')
_EDGE = re.compile(r'<g id="[^"]*" class="edge">')
_TEXT = re.compile(r'<text(?: xml:space="preserve")?( text-anchor="\w+")( x="[^"]*" y="[^"]*")( [^>]*)>([^<]*)</text>')
_TEXTS = re.compile(rf"{_TEXT.pattern}(?:\n{_TEXT.pattern})+")
_EDGES_OF_3D = re.compile(r'(?:<polyline fill="none"( stroke="[^"]*"[^>]*?) points="[^"]*"/>\n?){2,}')
_POINTS = re.compile(r' points="([^" ]*) ([^"]*)"')
_PLACES = re.compile(r' (?:d|points|x|y|cx|cy|rx|ry)="[^"]*"')
_HUNDREDTHS = re.compile(r"(\.\d)\d+")
_TAG = re.compile(r"<[^>]*>")


def drawing(
    plan: Plan, content: Scene, *, stage: str, serial: int = 0, anchor: str = "", inner_of: str = ""
) -> dict[str, Any]:
    """What the front end needs to show one scene, as JSON.

    Args:
        plan: where the scene came from.
        content: the scene.
        stage: the name of the stage shown.
        serial: the number of this drawing.
        anchor: the box that should not move on the screen.
        inner_of: the key of the group whose inside this is.  Its frames cannot be closed, and the boxes around it
            have size 0: they belong elsewhere.

    Raises:
        LayoutError: no engine can draw it.
    """
    return _told(plan, content, svg(_source(content)), stage, serial, anchor, inner_of)


def drawings(plan: Plan, contents: Mapping[str, Scene], *, stage: str) -> list[dict[str, Any]]:
    """Drawings of groups' insides, by the groups' keys: all in one run of the engine.

    Raises:
        LayoutError: the engine failed on one of them.
    """
    texts = svgs([_source(content) for content in contents.values()])
    parts = zip(texts, contents.items(), strict=True)
    return [_told(plan, content, text, stage, 0, "", key) for text, (key, content) in parts]


def _source(content: Scene) -> str:
    return str(draw(content, legend=False, live=True).source)


def _told(plan: Plan, content: Scene, text: str, stage: str, serial: int, anchor: str, inner_of: str) -> dict[str, Any]:
    partners = _partners(plan, content)
    around = {child.id for child in content.root.children if inner_of and isinstance(child, Box)}
    return {
        "serial": serial,
        "stage": stage,
        "svg": slim(text),
        "boxes": {box.id: _box(box, partners.get(box.id, []), box.id in around) for box in content.root.boxes()},
        "frames": {} if inner_of else {frame.group: clean(frame.name) for frame in _frames(content.root)},
        "lines": [[line.source, line.target, line.before, line.after, line.stands_for] for line in content.lines],
        "anchor": anchor,
        "inner_of": inner_of,
    }


def slim(text: str) -> str:
    """Graphviz's SVG in two thirds of the bytes: without titles, hundredths of a point, and fonts said twice.

    Quotes are single ones, which JSON need not escape.

    >>> slim('<g id="a" class="node op">\\n<title>a</title>\\n<path d="M1.25,-3.999"/>\\n</g>')
    "<g id='a' class='node op'><path d='M1.2,-3.9'/></g>"
    """
    text = _TITLE.sub(r"\1", text)
    text = _EDGE.sub('<g class="edge">', text)
    text = _TEXTS.sub(_together, text)
    text = _TEXT.sub(lambda m: f"<text{m[1]}{m[2]}{_font(m[3])}>{m[4]}</text>", text)
    text = _EDGES_OF_3D.sub(_one_path, text)
    text = _PLACES.sub(lambda m: _HUNDREDTHS.sub(r"\1", m[0]), text)
    text = _TAG.sub(lambda m: m[0].replace('"', "'").replace("\n", ""), text)
    return text.replace(">\n<", "><").replace("&#45;", "-")


def _together(match: re.Match[str]) -> str:
    """Several lines of text in one font, which is said once."""
    lines = _TEXT.findall(match[0])
    looks = {(anchor, font) for anchor, _, font, _ in lines}
    if len(looks) > 1:
        return match[0]
    ((anchor, font),) = looks
    words = "".join(f"<text{place}>{word}</text>" for _, place, _, word in lines)
    return f"<g{anchor}{_font(font)}>{words}</g>"


def _font(attributes: str) -> str:
    return attributes.replace(' fill="#111111"', "").replace('"10.00"', '"10"').replace(",sans-Serif", "")


def _one_path(match: re.Match[str]) -> str:
    """The inner edges of a three-dimensional box."""
    pieces = "".join(f"M{start}L{rest}" for start, rest in _POINTS.findall(match[0]))
    return f'<path fill="none"{match[1]} d="{pieces}"/>'


def _box(box: Box, partners: list[str], is_around: bool) -> dict[str, Any]:
    return {
        "kind": box.kind,
        "status": str(box.status),
        "before": box.before,
        "after": box.after,
        "label": [clean(line) for line in box.lines],
        "tip": [line if len(line) <= _TIP else line[: _TIP - 1] + "…" for line in map(clean, box.tooltip)],
        "node": box.members[0] if box.kind != "group" else None,
        "group": box.group or None,
        "size": 0 if is_around else len(box.members),
        "partners": partners,
    }


def _partners(plan: Plan, content: Scene) -> dict[str, list[str]]:
    """A fold's constant and what it stands for, where both have a box."""
    found: dict[str, dict[str, None]] = {}
    for link in plan.diff.folds:
        became = content.where.get(link.id)
        for name in link.inlined:
            gone = content.where.get(name)
            if gone is not None and became is not None and gone != became:
                found.setdefault(became, {})[gone] = None
                found.setdefault(gone, {})[became] = None
    return {box: list(others) for box, others in found.items()}


def _frames(frame: Frame) -> Iterator[Frame]:
    for child in frame.children:
        if isinstance(child, Frame):
            yield child
            yield from _frames(child)
