"""The picture a report shows by itself: before and after side by side, or one graph with both where that is wide."""

from __future__ import annotations

import hashlib
import re
from xml.sax.saxutils import escape

from ..analysis.diff import Diff, Status
from .dot import COLOURS, draw
from .drawing import slim
from .labels import clean, middle
from .layout import svg
from .scene import Plan, Scene

__all__ = ["picture", "small_picture"]

_BUDGET = 120
_FEWEST = 30
_LARGE = 2_000  # nodes, of which many boxes stand for so many that lines between them take more room
_ROOM = 80_000  # bytes
_CALM = 24  # a still picture cannot be zoomed: modules in which nothing was folded stay closed
_WIDEST = 420.0  # points; two wider panes would be shrunk to a notebook's width until letters are hard to read
_GAP = 24.0
_HEAD = 44.0
_MARGIN = 10.0
_FONT = 'font-family="Helvetica,Arial,sans-serif" fill="#111111"'

_OPEN = re.compile(r"<svg[^>]*>", re.DOTALL)
# how Graphviz writes a tooltip: a link to nowhere, which sanitizers throw out; browsers show <title> as well
_TOOLTIP = re.compile(r'<title>[^<]*</title>\n<g id="[^"]*"><a xlink:title="([^"]*)">\n(.*?)</a>\n</g>', re.DOTALL)
_VIEWBOX = re.compile(r'viewBox="([-\d.]+) ([-\d.]+) ([-\d.]+) ([-\d.]+)"')


def small_picture(plan: Plan, title: str = "") -> str:
    """The same in fewer bytes: without tooltips, and with fewer boxes where that is still too much.

    A notebook keeps it twice, and is committed with it.

    Raises:
        LayoutError: no engine can draw it.
    """
    budget = _BUDGET if len(plan.diff.nodes) < _LARGE else _BUDGET // 2
    text = slim(_drawn(plan, title, None, budget))
    while len(text) > _ROOM and budget > _FEWEST:
        budget //= 2
        text = slim(_drawn(plan, title, None, budget))
    return text


def picture(diff: Diff, title: str = "", *, prefix: str | None = None, budget: int = _BUDGET) -> str:
    """An ``<svg>`` element for viewers that cannot run anything: no styles, scripts, links or fonts of its own.

    Both panes have the same layout, so a node that both have is at the same place in both.

    Args:
        prefix: put before every id; by default derived from the content, so equal reports give equal pictures.
        budget: the most boxes in a pane.

    Raises:
        LayoutError: no engine can draw it.
    """
    return _drawn(Plan(diff, budget), title, prefix, budget)


def _drawn(plan: Plan, title: str, prefix: str | None, budget: int) -> str:
    content = plan.scene(plan.tree.start(budget, _CALM))
    if prefix is None:
        source = str(draw(content).source)
        prefix = f"cv{hashlib.sha256(source.encode('utf-8', 'replace')).hexdigest()[:8]}-"
    first = svg(draw(content, "before", legend=False).source, prefix=f"{prefix}before-")
    width, height = _size(first)
    if width > _WIDEST or not _two_sided(content):
        both = svg(draw(content, "diff", legend=False).source, prefix=f"{prefix}diff-")
        return _compose([("", both)], title, width, height)
    second = svg(draw(content, "after", legend=False).source, prefix=f"{prefix}after-")
    return _compose([("before", first), ("after", second)], title, width, height)


def _two_sided(content: Scene) -> bool:
    boxes = list(content.root.boxes())
    return any(box.before for box in boxes) and any(box.after for box in boxes)


def _size(text: str) -> tuple[float, float]:
    match = _VIEWBOX.search(text)
    return (float(match[3]), float(match[4])) if match else (0.0, 0.0)


def _compose(panes: list[tuple[str, str]], title: str, width: float, height: float) -> str:
    across = len(panes) * width + (len(panes) - 1) * _GAP
    legend, least = _legend(became=not panes[0][0])
    total_width = max(across, least) + 2 * _MARGIN
    total_height = height + _HEAD + (14 if panes[0][0] else 0) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{total_width:.0f}pt" height="{total_height:.0f}pt" '
        f'viewBox="0 0 {total_width:.2f} {total_height:.2f}">',
        f'<rect x="0" y="0" width="{total_width:.2f}" height="{total_height:.2f}" fill="#ffffff"/>',
        f'<text x="{_MARGIN:.0f}" y="16" {_FONT} font-size="12" font-weight="bold">{_safe(title)}</text>',
        *legend,
    ]
    left = _MARGIN
    for name, text in panes:
        top = _HEAD
        if name:
            parts.append(
                f'<text x="{left:.2f}" y="{top + 8:.2f}" {_FONT} font-size="11" font-weight="bold">{name}</text>'
            )
            top += 14
        if left > _MARGIN:
            x, bottom = left - _GAP / 2, total_height - _MARGIN
            parts.append(f'<path d="M{x:.2f},{_HEAD:.2f}V{bottom:.2f}" stroke="#bbbbbb" fill="none"/>')
        body = _TOOLTIP.sub(r"<title>\1</title>\n\2", _OPEN.sub("", text, count=1).rsplit("</svg>", 1)[0]).strip()
        parts.append(f'<g transform="translate({left:.2f},{top:.2f})">\n{body}\n</g>')
        left += width + _GAP
    return "\n".join([*parts, "</svg>"])


def _legend(became: bool) -> tuple[list[str], float]:
    """Small samples of each style with a sign and words: colour alone tells nothing to some readers."""
    x, parts = _MARGIN, []
    for status, words, look in (
        (Status.KEPT, "in both", ""),
        (Status.REMOVED, "− only before", ' stroke-dasharray="5,2"'),
        (Status.CONSTANT, "+ constant burned in", ' stroke-width="2.5"'),
    ):
        fill, stroke = COLOURS[status]
        parts.append(f'<rect x="{x:.0f}" y="25" width="16" height="10" fill="{fill}" stroke="{stroke}"{look}/>')
        parts.append(f'<text x="{x + 21:.0f}" y="34" {_FONT} font-size="10">{words}</text>')
        x += 34 + 5.4 * len(words)
    if became:
        stroke = COLOURS[Status.CONSTANT][1]
        parts.append(f'<path d="M{x:.0f},30h16" stroke="{stroke}" stroke-dasharray="1,5" fill="none"/>')
        parts.append(f'<text x="{x + 21:.0f}" y="34" {_FONT} font-size="10">became</text>')
        x += 34 + 5.4 * len("became")
    return parts, x


def _safe(text: str) -> str:
    return escape(middle(clean(text), 90))
