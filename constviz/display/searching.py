"""Finding nodes by words: all nodes, also those inside closed groups."""

from __future__ import annotations

from ..model import Node
from .labels import clean, fold_call
from .scene import Plan

__all__ = ["Entry", "entry", "find", "index"]

Entry = dict[str, str]
"""``name``, ``op``, ``target``, ``status``, ``path`` and ``words``, which are the source text in lower case."""

_WORDS = 300


def index(plan: Plan) -> dict[str, Entry]:
    """What can be searched for each node, graph break and fold, by its id, in the order of the drawing.

    Parameters without a box are among the words of the nodes that read them.
    """
    return {name: entry(plan, name) for name in plan.tree.root.items()}


def find(entries: dict[str, Entry], text: str) -> list[str]:
    """The ids of the entries in which every word of a text occurs; none for an empty text.

    >>> entry = {"name": "mul", "op": "call_function", "target": "mul", "path": "fc", "words": "y = x * 2"}
    >>> find({"after.0.mul": entry}, "MUL fc"), find({"after.0.mul": entry}, "mul add")
    (['after.0.mul'], [])
    """
    terms = text.lower().split()
    if not terms:
        return []
    found = []
    for name, one in entries.items():
        told = f"{one['name']} {one['op']} {one['target']} {one['path']} {one['words']}".lower()
        if all(term in told for term in terms):
            found.append(name)
    return found


def entry(plan: Plan, name: str) -> Entry:
    """What can be searched for one of them."""
    if name in plan.cuts:
        cut = plan.cuts[name]
        return _made("graph break", "break", cut.reason, str(cut.status), "", [])
    link = plan.folds.get(name)
    words = [] if link is None else [fold_call(link.fold), link.fold.result.text if link.fold.result else ""]
    if name not in plan.nodes:
        assert link is not None
        place = link.fold.location
        words += [f"{place.short} {place.source}"] if place else []
        return _made(fold_call(link.fold), "fold", link.fold.function, "constant", "", words)
    node = plan.nodes[name].node
    words += [p.target for p in plan.parameters(name)]
    words += [] if node.value is None else [node.value.text]
    return _made(
        node.name, node.op, node.target, str(plan.nodes[name].status), ".".join(node.module), [*words, *_lines(node)]
    )


def _lines(node: Node) -> list[str]:
    """The lines that made the node, innermost first."""
    return [f"{place.short} {place.function} {place.source}" for place in reversed(node.stack)]


def _made(name: str, op: str, target: str, status: str, path: str, words: list[str]) -> Entry:
    made = {"name": name, "op": op, "target": target, "status": status, "path": path}
    return {key: clean(value) for key, value in made.items()} | {
        "words": clean(" ".join(dict.fromkeys(words))).lower()[:_WORDS]
    }
