"""The graphs of one side in the order of running, and every graph break between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model import Graph, GraphBreak, Variant
from .labels import clean
from .scene import Plan

__all__ = ["between", "side"]


def side(variant: Variant | None, plan: Plan, name: str, stage: str) -> dict[str, Any]:
    """The graphs of a variant, each with a node to go to and the breaks after it; ``breaks``: those before all."""
    first: dict[int, str] = {}
    for item in plan.tree.root.items():
        entry = plan.nodes.get(item)
        graph = None if entry is None else entry.graph_before if name == "before" else entry.graph_after
        if graph is not None:
            first.setdefault(graph, item)
    graphs = variant.stage(stage) if variant else ()
    breaks = variant.graph_breaks if variant and stage == "dynamo" else ()
    before, *after = between(graphs, breaks)
    return {
        "side": name,
        "breaks": _told(before),
        "graphs": [
            {
                "name": clean(graph.name),
                "nodes": len(graph.nodes),
                "first": first.get(graph.index, ""),
                "breaks": _told(cuts),
            }
            for graph, cuts in zip(graphs, after, strict=True)
        ],
    }


def between(graphs: Sequence[Graph], breaks: Sequence[GraphBreak]) -> list[list[GraphBreak]]:
    """The breaks before the first graph, then those after each.

    Between two breaks there is no graph if there is no operation, so a graph may have several breaks after it.

    >>> [[cut.reason for cut in cuts] for cuts in between([Graph(0, "f", (), break_reason="print")],
    ...                                                   [GraphBreak("print"), GraphBreak("input")])]
    [[], ['print', 'input']]
    """
    found: list[list[GraphBreak]] = [[] for _ in range(len(graphs) + 1)]
    at = last = 0
    for k, graph in enumerate(graphs):
        if graph.break_reason is None:
            continue
        own = _own(graph, breaks, at)
        if own is None:
            found[k + 1].append(GraphBreak(graph.break_reason))
            continue
        found[last] += breaks[at:own]
        found[k + 1].append(breaks[own])
        at, last = own + 1, k + 1
    found[last] += breaks[at:]
    return found


def _own(graph: Graph, breaks: Sequence[GraphBreak], at: int) -> int | None:
    """The break that ends a graph: of its reason, best in its function and after the break it was resumed from."""
    named = [k for k in range(at, len(breaks)) if breaks[k].reason == graph.break_reason]
    begun = next((k for k in range(at, len(breaks)) if graph.location and _line(breaks[k]) == _line(graph)), at - 1)
    best = sorted(named, key=lambda k: (k <= begun, _function(breaks[k]) != graph.name, k))
    return best[0] if best else None


def _function(cut: GraphBreak) -> str:
    return cut.location.function if cut.location else ""


def _line(thing: Graph | GraphBreak) -> tuple[str, int] | None:
    return (thing.location.file, thing.location.line) if thing.location else None


def _told(breaks: Sequence[GraphBreak]) -> list[list[str]]:
    return [[clean(cut.reason), clean(cut.location.short) if cut.location else ""] for cut in breaks]
