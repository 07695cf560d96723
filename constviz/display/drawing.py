"""One drawing for the front end: a light SVG, and what each box in it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .dot import draw
from .labels import clean
from .layout import svg
from .scene import Box, Frame, Plan, Scene

__all__ = ["drawing", "slim"]

_TIP = 160  # characters of one line of a tooltip
_TITLE = re.compile(r'(<g id="[^"]*" class="(?:node|cluster|graph)[^"]*"[^>]*>)\n<title>[^<]*</title>')
_EDGE = re.compile(r'<g id="[^"]*" class="edge">')
_TEXT = re.compile(r'<text(?: xml:space="preserve")?( text-anchor="\w+")?( [^>]*?)( font-family=[^>]*)>')
_PLACES = re.compile(r' (?:d|points|x|y|cx|cy|rx|ry)="[^"]*"')
_HUNDREDTHS = re.compile(r"(\.\d)\d+")
_COLOUR = re.compile(r' fill="(?!#111111)[^"]*"')
_FONT = ' font-family="Helvetica" font-size="10.00" fill="#111111"'


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
        inner_of: the key of the group whose inside this is.

    Raises:
        LayoutError: no engine can draw it.
    """
    partners = _partners(plan, content)
    frames = {} if inner_of else {frame.group: clean(frame.name) for frame in _frames(content.root)}
    return {
        "serial": serial,
        "stage": stage,
        "svg": slim(svg(draw(content, legend=False, live=True).source)),
        "boxes": {box.id: _box(box, partners.get(box.id, [])) for box in content.root.boxes()},
        "frames": frames,
        "lines": [[line.source, line.target, line.before, line.after, line.stands_for] for line in content.lines],
        "anchor": anchor,
        "inner_of": inner_of,
    }


def slim(text: str) -> str:
    """Graphviz's SVG without what is said over and over: titles, fonts, and hundredths of a point.

    >>> slim('<g id="a" class="node op">\\n<title>a</title>\\n<path d="M1.25,-3.999"/>\\n</g>')
    '<g id="a" class="node op">\\n<path d="M1.2,-3.9"/>\\n</g>'
    """
    text = _TITLE.sub(r"\1", text)
    text = _EDGE.sub('<g class="edge">', text)
    text = _TEXT.sub(_label, text)
    text = text.replace('class="graph"', f'class="graph" text-anchor="middle"{_FONT}', 1)
    return _PLACES.sub(lambda m: _HUNDREDTHS.sub(r"\1", m[0]), text)


def _label(match: re.Match[str]) -> str:
    """A text with only what differs from the text of the whole drawing."""
    anchor, place, font = match[1] or "", match[2], match[3]
    colour = _COLOUR.search(font)
    return f"<text{'' if 'middle' in anchor else anchor}{place}{colour[0] if colour else ''}>"


def _box(box: Box, partners: list[str]) -> dict[str, Any]:
    return {
        "kind": box.kind,
        "status": str(box.status),
        "before": box.before,
        "after": box.after,
        "label": [clean(line) for line in box.lines],
        "tip": [line if len(line) <= _TIP else line[: _TIP - 1] + "…" for line in map(clean, box.tooltip)],
        "node": box.members[0] if box.kind != "group" else None,
        "group": box.group or None,
        "size": len(box.members),
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
