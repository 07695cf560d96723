"""What a reader is told about one node, graph break or fold, as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ..analysis.diff import DiffNode, FoldLink, Status
from ..model import Comparison, Fold, Location, Node, Role, Value
from .labels import brief_type, clean, fold_call, middle
from .scene import Plan

__all__ = ["HOLDS", "Details"]

HOLDS = {True: "yes", False: "no", None: "unknown"}
_LONG = 400  # characters of one fact; the whole of it is in the report's tables
_MANY = 60  # inputs or users listed

_BECAME = {
    Status.KEPT: "in both",
    Status.REMOVED: "only before folding",
    Status.ADDED: "only after folding",
    Status.CONSTANT: "constant burned in",
}


class Details:
    """Tells about anything in the diff of one stage, by its id."""

    def __init__(self, comparison: Comparison, plan: Plan) -> None:
        self._plan = plan
        self._assumptions: dict[str, list[list[str]]] = {}
        for row in comparison.assumptions:
            words = [row.expression, row.expected, row.current or "", HOLDS[row.holds]]
            for function in row.function.split(", "):  # one value may be read by several
                self._assumptions.setdefault(function, []).append([_short(word) for word in words])
        self._of_fold = {link.fold.id: link for link in plan.diff.folds}

    def __call__(self, name: str) -> dict[str, Any]:
        """What there is to tell.

        Raises:
            KeyError: the diff has nothing of that id.
        """
        plan = self._plan
        if name in plan.cuts:
            cut = plan.cuts[name]
            facts = [("graph break", cut.reason), ("status", _BECAME[cut.status])]
            return self._page(name, "graph break", facts, (), None, None)
        node = plan.nodes.get(name)
        link = plan.folds.get(name) or self._of_fold.get(node.fold or "" if node else "")
        if node is None:
            if link is None or name not in plan.folds:
                raise KeyError(name)
            stack = (link.fold.location,) if link.fold.location else ()
            return self._page(name, fold_call(link.fold), _fold_facts(link), stack, link, link.fold.result)
        facts = [*_node_facts(node), *self._parameters(name)]
        value = node.node.value
        if link is not None and link.id == name:
            facts += _fold_facts(link)
            if value is None or not value.stats:
                value = link.fold.result or value
        return self._page(name, node.node.name, facts, node.node.stack, link, value)

    def _page(
        self,
        name: str,
        title: str,
        facts: Iterable[tuple[str, str]],
        stack: tuple[Location, ...],
        link: FoldLink | None,
        value: Value | None,
    ) -> dict[str, Any]:
        plan = self._plan
        return {
            "title": clean(title),
            "facts": [[term, _short(text)] for term, text in facts if text],
            "source": [
                {
                    "place": clean(place.short),
                    "function": clean(place.function),
                    "line": _short(place.source),
                    "here": k == len(stack) - 1,
                }
                for k, place in enumerate(stack)
            ],
            "inputs": self._links(plan.inputs.get(name, ())),
            "users": self._links(plan.users.get(name, ())),
            "fold": None if link is None else self._fold(link.fold),
            "value": None if value is None else _value(value),
        }

    def _links(self, names: Iterable[str]) -> list[list[str]]:
        return [[name, self.label(name)] for name in list(dict.fromkeys(names))[:_MANY]]

    def label(self, name: str) -> str:
        """A few words for a link to it."""
        if name in self._plan.cuts:
            return "graph break"
        if name in self._plan.folds:
            return middle(clean("+ " + fold_call(self._plan.folds[name].fold)), 60)
        node = self._plan.nodes[name]
        sign = {Status.KEPT: "", Status.REMOVED: "− "}.get(node.status, "+ ")
        quiet = node.node.role in (Role.PARAMETER, Role.BUFFER)
        return middle(clean(sign + (node.node.target if quiet else node.node.name)), 60)

    def _parameters(self, name: str) -> Iterator[tuple[str, str]]:
        for node in self._plan.parameters(name):
            yield str(node.role), f"{node.target}: {brief_type(node.shape, node.dtype)}"

    def _fold(self, fold: Fold) -> dict[str, Any]:
        return {
            "call": clean(fold_call(fold)),
            "place": clean(fold.location.short) if fold.location else "",
            "verdict": str(fold.verdict or ""),
            "reason": clean(fold.reason),
            "assumptions": self._assumptions.get(fold.function, []),
        }


def _node_facts(entry: DiffNode) -> Iterator[tuple[str, str]]:
    node = entry.node
    yield "status", _BECAME[entry.status]
    yield "op", node.op
    yield "target", node.target
    yield "arguments", node.arguments
    yield "shape", _dims(node.shape)
    yield "dtype", node.dtype or ""
    yield "stride", _dims(node.stride)
    yield "device", node.device or ""
    yield "module", _module(node)
    was = entry.before
    if was is not None and entry.after is not None:
        yield "before", ", ".join(_changes(was, entry.after))
    yield "graph", _graphs(entry)


def _changes(was: Node, node: Node) -> Iterator[str]:
    """What differs of a node that both have."""
    if was.name != node.name:
        yield was.name
    if (was.shape, was.dtype) != (node.shape, node.dtype):
        yield brief_type(was.shape, was.dtype)
    if was.stride != node.stride:
        yield f"stride {_dims(was.stride)}"


def _graphs(entry: DiffNode) -> str:
    sides = (("before", entry.graph_before), ("after", entry.graph_after))
    told = [(side, graph) for side, graph in sides if graph is not None]
    if len({graph for _, graph in told}) == 1:
        return str(told[0][1])
    return ", ".join(f"{graph} {side}" for side, graph in told)


def _fold_facts(link: FoldLink) -> list[tuple[str, str]]:
    fold, result = link.fold, link.fold.result
    return [
        ("outcome", str(fold.outcome)),
        ("result", result.type if result else ""),
        ("stands for", f"{len(link.inlined)} nodes of before" if link.inlined else ""),
        ("defined at", fold.definition.short if fold.definition else ""),
    ]


def _value(value: Value) -> dict[str, Any]:
    heat = value.heat
    return {
        "text": _short(value.text),
        "bytes": value.nbytes,
        "stats": [[clean(term), clean(text)] for term, text in value.stats],
        "heat": heat and {"rows": heat.rows, "cols": heat.cols, "values": [_finite(v) for v in heat.values]},
    }


def _finite(number: float | None) -> float | None:
    # JSON has no word for the others
    return None if number is None or not math.isfinite(number) else round(number, 3)


def _module(node: Node) -> str:
    kinds = (*node.module_types, *[""] * len(node.module))
    return ".".join(f"{name} ({kind})" if kind else name for name, kind in zip(node.module, kinds, strict=False))


def _dims(dims: tuple[Any, ...] | None) -> str:
    return "" if dims is None else f"[{', '.join(map(str, dims))}]"


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"
