"""Comparisons as the page is given them: the real layout of small programs, with every text and table it may show."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from constviz.analysis.diff import Diff, diff
from constviz.display.drawing import drawing
from constviz.display.opening import Opening
from constviz.display.scene import Plan
from constviz.model import Argument, Comparison, Fold, Graph, Location, Mark, Node, Outcome, Role, Value, Variant

PICTURE = "constviz diagram 1a2b3c4d"


def diff_of(made: Comparison) -> Diff:
    return diff(made.variants.get("before"), made.variants.get("after"))


class Desk:
    """The other side of the page: what it draws when groups are opened and closed."""

    def __init__(self, made: Comparison, budget: int = 150) -> None:
        self.diff = diff_of(made)
        self.plan = Plan(self.diff, budget)
        self.opening = Opening(self.plan.tree, budget)
        self.serial = 0

    def view(self, anchor: str = "", stage: str = "dynamo") -> dict[str, Any]:
        self.serial += 1
        content = self.plan.scene(self.opening.keys, self.opening.asked)
        return drawing(self.plan, content, stage=stage, serial=self.serial, anchor=anchor)

    def inner(self, key: str) -> dict[str, Any]:
        return drawing(self.plan, self.plan.inside(key), stage="dynamo", inner_of=key)

    def after_toggle(self, key: str, anchor: str = "") -> dict[str, Any]:
        self.opening.toggle(key)
        return self.view(anchor)

    def after_reveal(self, node: str) -> dict[str, Any]:
        self.opening.reveal(node)
        return self.view()

    def box_of(self, text: str) -> str:
        """The id of the one closed group whose label begins with a text."""
        (found,) = [i for i, box in self.view()["boxes"].items() if box["group"] and box["label"][0].startswith(text)]
        return found


def box_like(view: dict[str, Any], text: str) -> str:
    """The id of the one box that has a text in one of its lines."""
    (found,) = [i for i, box in view["boxes"].items() if any(text in line for line in box["label"])]
    return found


def data_of(made: Comparison, **more: Any) -> dict[str, Any]:
    found = diff_of(made)
    names = {node.id: node.node.name for node in found.nodes} | {link.id: link.fold.function for link in found.folds}
    nodes = {
        node.id: {
            "name": node.node.name,
            "op": node.node.op,
            "target": node.node.target,
            "status": str(node.status),
            "path": ".".join(node.node.module),
            "words": " ".join(place.source for place in node.node.stack).lower(),
        }
        for node in found.nodes
    }
    folds = [[link.fold.function, "called once", "conditional"] for link in found.folds]
    first = {side: next((n.id for n in found.nodes if getattr(n, side)), "") for side in ("before", "after")}
    strip = [
        {
            "side": side,
            "breaks": [],
            "graphs": [
                {
                    "name": graph.name,
                    "nodes": len(graph.nodes),
                    "first": first[side],
                    "breaks": [[graph.break_reason, ""]] if graph.break_reason else [],
                }
                for graph in made.variants[side].graphs
            ],
        }
        for side in ("before", "after")
        if side in made.variants
    ]
    return {
        "title": f"{made.function}: before and after assume_constant_result",
        "picture": PICTURE,
        "verdict": "conditional",
        "text": "Net: 1 call folded\n  table(n=4) at net.py:9",
        "stages": ["dynamo"],
        "marks": [{"name": mark.function, "place": mark.definition.short, "selected": True} for mark in made.marks],
        "can_fold": True,
        "tables": [
            {
                "name": "folds",
                "columns": ["function", "reason", "verdict"],
                "rows": [{"cells": cells, "nodes": [link.id]} for cells, link in zip(folds, found.folds, strict=True)],
                "more": 0,
            },
            {
                "name": "graph_breaks",
                "columns": ["variant", "reason"],
                "rows": [{"cells": ["before", "Unsupported: print"], "nodes": []}],
                "more": 3,
            },
        ],
        "strip": strip,
        "nodes": nodes,
        "details": {name: details_of(found, name, names) for name in names},
        "inner": None,
        **more,
    }


def details_of(found: Diff, name: str, names: dict[str, str]) -> dict[str, Any]:
    node = next((node.node for node in found.nodes if node.id == name), None)
    link = next((link for link in found.folds if link.id == name), None)
    stack = node.stack if node else (link.fold.location,)
    return {
        "title": names[name],
        "facts": [["op", node.op], ["target", node.target], ["shape", str(list(node.shape or ()))]] if node else [],
        "source": [
            {"place": place.short, "function": place.function, "line": place.source, "here": place is stack[-1]}
            for place in stack
        ],
        "inputs": [[e.source, names[e.source]] for e in found.edges if e.target == name and e.source in names],
        "users": [[e.target, names[e.target]] for e in found.edges if e.source == name and e.target in names],
        "fold": {
            "call": f"{link.fold.function}()",
            "place": link.fold.location.short,
            "verdict": "conditional",
            "reason": link.fold.reason,
            "assumptions": [["CFG['n']", "4", "5", "no"]],
        }
        if link
        else None,
        "value": {
            "text": "tensor([1, 2, 3, 4])",
            "bytes": 32,
            "stats": [["min", "1"], ["max", "4"]],
            "heat": {"rows": 2, "cols": 2, "values": [0.0, 0.5, None, 1.0]},
        }
        if link
        else None,
    }


def packed(view: dict[str, Any]) -> dict[str, str]:
    return {"z": base64.b64encode(gzip.compress(json.dumps(view).encode())).decode()}


PARTS = {"attn": ("q", "k", "v", "scores", "softmax", "mixed"), "mlp": ("up", "gelu", "down"), "norm": ("ln",)}


def network(layers: int) -> Comparison:
    """Layers of three modules each.  In the first layer's attention two nodes are folded away."""
    before, after = [_input()], [_input()]
    home = Location("/home/me/net.py", 3, "table", "def table():")
    call = Location("/home/me/net.py", 9, "forward", "scores = q @ k.T * table()")
    for layer in range(layers):
        for part, ops in PARTS.items():
            for op in ops:
                name, inputs = f"{op}_{layer}", [after[-1].name]
                module = ("layers", str(layer), part)
                if name == "scores_0":
                    before.append(_op("arange_0", "torch.arange", [], module, call))
                    before.append(_op("add_0", "add", ["arange_0"], module, call))
                    constant = Value("[1, 2] (int64[2])", "Tensor", (2,), "int64", "cpu", 16)
                    after.append(Node("table_0", "get_attr", "table_0", Role.CONSTANT, stack=(call,), value=constant,
                                      module=module, module_types=("List", "Layer", "Part")))  # fmt: skip
                    before.append(_op(name, op, [*inputs, "add_0"], module, call))
                    after.append(_op(name, op, [*inputs, "table_0"], module, call))
                else:
                    node = _op(name, op, inputs, module, call)
                    before.append(node)
                    after.append(node)
    fold = Fold("0", "table", Outcome.FOLDED, call, home, (Argument("n", Value("2", "int")),),
                Value("[1, 2] (int64[2])", "Tensor", (2,), "int64", "cpu", 16), "called once", None, 0, "table_0",
                ("scores_0",))  # fmt: skip
    output = Node("output", "output", "output", Role.OUTPUT, (after[-1].name,))
    variants = {
        "before": Variant("before", (Graph(0, "forward", (*before, output)),)),
        "after": Variant("after", (Graph(0, "forward", (*after, output)),), folds=(fold,)),
    }
    return Comparison("Net", variants, Location("/home/me/net.py", 8, "forward"), {}, marks=(Mark("table", home),))


def _input() -> Node:
    return Node("x", "placeholder", "x", Role.INPUT, shape=(2, 4), dtype="float32")


def _op(name: str, target: str, inputs: list[str], module: tuple[str, ...], place: Location) -> Node:
    return Node(name, "call_function", target, inputs=tuple(inputs), stack=(place,), shape=(2, 4), dtype="float32",
                module=module, module_types=("List", "Layer", "Part"))  # fmt: skip
