"""Drawings for the front end: a light SVG, and what each box in it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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


def drawing(plan: Plan, content: Scene, *, stage: str, serial: int = 0, anchor: str = "") -> dict[str, Any]:
    """What the front end needs to show one scene, as JSON.

    Args:
        plan: where the scene came from.
        content: the scene.
        stage: the name of the stage shown.
        serial: the number of this drawing.
        anchor: the box that should not move on the screen.

    Raises:
        LayoutError: no engine can draw it.
    """
    frames = {frame.group: clean(frame.name) for frame in _frames(content.root)}
    told = {"serial": serial, "stage": stage, "svg": slim(svg(_source(content))), "frames": frames, "anchor": anchor}
    return told | _parts(plan, content) | {"inner_of": ""}


def drawings(plan: Plan, contents: Sequence[tuple[str, Scene]], *, stage: str) -> list[dict[str, Any]]:
    """Drawings of groups' insides, by the groups' keys.  Their frames cannot be closed.

    Boxes around the group have size 0: they belong elsewhere.

    Raises:
        LayoutError: the engine failed on one of them.
    """
    texts = svgs([_source(content) for _, content in contents])
    told = {"serial": 0, "stage": stage, "frames": {}, "anchor": ""}
    return [
        told | {"svg": slim(text), "inner_of": key} | _parts(plan, content, alone=True)
        for text, (key, content) in zip(texts, contents, strict=True)
    ]


def _source(content: Scene) -> str:
    return str(draw(content, legend=False, live=True).source)


def _parts(plan: Plan, content: Scene, *, alone: bool = False) -> dict[str, Any]:
    partners = _partners(plan, content)
    around = {child.id for child in content.root.children if alone and isinstance(child, Box)}
    return {
        "boxes": {box.id: _box(box, partners.get(box.id, []), box.id in around) for box in content.root.boxes()},
        "lines": [[line.source, line.target, line.before, line.after, line.stands_for] for line in content.lines],
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
