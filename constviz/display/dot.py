"""A diff as a ``graphviz.Digraph``: before, after and diff share one layout."""

from __future__ import annotations

import graphviz  # type: ignore[import-untyped]

from ..analysis.diff import Status, diff
from ..model import Comparison
from .collapse import BUDGET
from .labels import dot_text, text_width
from .scene import Box, Frame, Line, Scene, scene

__all__ = ["COLOURS", "VIEWS", "diagram", "draw"]

VIEWS = ("before", "after", "diff")

# Okabe-Ito, light: told apart also by those who see no red or green.  Fill, then stroke.
COLOURS = {
    Status.KEPT: ("#eeeeee", "#666666"),
    Status.REMOVED: ("#f3c8a5", "#d55e00"),
    Status.ADDED: ("#ffffff", "#0072b2"),
    Status.CONSTANT: ("#a6d5f2", "#0072b2"),
}
LEGEND = "− dashed: only before folding     + thick: constant burned in     plain: in both     dotted: became"

_SHAPES = {"input": "ellipse", "output": "ellipse", "group": "box3d"}


def diagram(
    comparison: Comparison, stage: str = "dynamo", view: str = "diff", budget: int = BUDGET
) -> graphviz.Digraph:
    """Draw before and after folding.

    Args:
        comparison: what was captured.
        stage: which graphs: ``dynamo``, ...
        view: ``before``, ``after`` or ``diff``.  What a view does not show keeps its place, so the views line up.
        budget: the most boxes to draw; more nodes than that are gathered in boxes by module.

    Raises:
        ValueError: there is no such view.
    """
    if view not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, not {view!r}")
    variants = comparison.variants
    return draw(scene(diff(variants.get("before"), variants.get("after"), stage), budget), view)


def draw(content: Scene, view: str = "diff", *, legend: bool = True, live: bool = False) -> graphviz.Digraph:
    """The DOT of a scene.  Only presentation attributes and six-digit colours: what static viewers keep.

    ``live`` is for a front end that brings its own tooltips: there are none, and frames have ids.
    """
    graph = graphviz.Digraph(
        "constviz",
        graph_attr={"bgcolor": "#ffffff", "fontname": "Helvetica", "fontsize": "10", "fontcolor": "#111111"}
        | {"rankdir": "TB", "nodesep": "0.15", "ranksep": "0.25", "pad": "0.1"},
        node_attr={"shape": "box", "style": "filled", "fontname": "Helvetica", "fontsize": "10"}
        | {"fontcolor": "#111111", "margin": "0.08,0.04", "height": "0.25"},
        edge_attr={"arrowsize": "0.5", "color": "#888888"},
    )
    if legend:
        graph.attr(label=LEGEND, labelloc="b")
    _draw_frame(graph, content.root, view, live, [0])
    for line in content.lines:
        _draw_line(graph, line, view)
    return graph


def _shown(thing: Box | Line, view: str) -> bool:
    return thing.before if view == "before" else thing.after if view == "after" else True


def _draw_frame(graph: graphviz.Digraph, frame: Frame, view: str, live: bool, count: list[int]) -> None:
    for child in frame.children:
        if isinstance(child, Box):
            _draw_box(graph, child, view, live)
            continue
        count[0] += 1
        with graph.subgraph(name=f"cluster_{count[0]}") as inner:
            visible = any(_shown(box, view) for box in child.boxes())
            colours = {"color": "#bbbbbb", "fontcolor": "#555555"} if visible else _nothing()
            # straight corners take a quarter of the bytes
            look = {"id": f"frame-{child.group}"} if live else {"style": "rounded"}
            inner.attr(label=dot_text([child.name]), labeljust="l", **look, **colours)
            _draw_frame(inner, child, view, live, count)


def _nothing() -> dict[str, str]:
    # an invisible cluster would still write its label
    return {"color": "#ffffff", "fontcolor": "#ffffff"}


def _draw_box(graph: graphviz.Digraph, box: Box, view: str, live: bool) -> None:
    attributes = {"id": box.id, "class": f"{box.kind} {box.status}"}
    if (width := text_width(box.lines)) is not None:
        attributes["width"] = str(width)
    if box.kind in _SHAPES:
        attributes["shape"] = _SHAPES[box.kind]
    if box.kind == "group":
        attributes["margin"] = "0.12,0.08"
    if not _shown(box, view):
        graph.node(box.id, dot_text(box.lines), _attributes=attributes | {"style": "invis"})
        return
    fill, stroke = COLOURS[box.status]
    attributes |= {"fillcolor": fill, "color": stroke}
    if not live:
        attributes["tooltip"] = dot_text(box.tooltip or box.lines)
    styles = ["filled", "dashed" * (box.status is Status.REMOVED), "rounded" * (box.kind == "break")]
    attributes["style"] = ",".join(filter(None, styles))
    if box.status in (Status.CONSTANT, Status.ADDED):
        attributes["penwidth"] = "2.5" if box.status is Status.CONSTANT else "1.5"
    graph.node(box.id, dot_text(box.lines), _attributes=attributes)


def _draw_line(graph: graphviz.Digraph, line: Line, view: str) -> None:
    shown = _shown(line, view) and not (line.stands_for and view != "diff")
    if not shown:
        graph.edge(line.source, line.target, style="invis")
    elif line.stands_for:
        graph.edge(line.source, line.target, style="dotted", color="#0072b2", arrowhead="empty")
    elif line.status is Status.KEPT:
        graph.edge(line.source, line.target)
    else:
        removed = line.status is Status.REMOVED
        style = {"style": "dashed"} if removed else {"penwidth": "1.5"}
        graph.edge(line.source, line.target, color=COLOURS[line.status][1], **style)
