"""What the front end knows of a report besides the drawing, as JSON: tables, marks, graphs, and what to search."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.diff import Status
from ..analysis.verdicts import worst
from ..model import Comparison, Mark, Outcome
from ..naming import goes_by
from . import searching, strip, tables
from .details import HOLDS, Details
from .labels import clean, whole
from .scene import Plan
from .text import text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["payload", "picture_name", "plain", "stages", "table_of", "weight"]

_ROWS = 200
_CELL = 300


def payload(
    comparison: Comparison,
    plan: Plan,
    *,
    stage: str = "dynamo",
    can_fold: bool = False,
    extra: Mapping[str, pd.DataFrame] | None = None,
    room: int = 0,
) -> dict[str, Any]:
    """Everything about a report that does not change when a group is opened.

    Args:
        comparison: the report's data, with its assumptions as they are now.
        plan: the plan of the drawing of ``stage``.
        stage: the stage shown.
        can_fold: whether the function can be captured again with other marks.
        extra: more tables by name, such as timings.
        room: the most bytes that all of it may take in a notebook's file.  The search index and the details are left
            out where they do not fit: then the front end asks for what it wants.
    """
    folds = [fold for variant in comparison.variants.values() for fold in variant.folds]
    found: dict[str, Any] = plain(
        {
            "title": clean(f"{comparison.function}: before and after assume_constant_result"),
            "picture": picture_name(comparison),
            "verdict": str(worst(fold.verdict for fold in folds if fold.verdict)),
            "text": text(comparison),
            "stages": stages(comparison),
            "marks": _marks(comparison.marks),
            "can_fold": can_fold,
            "tables": _tables(comparison, plan, extra or {}),
            "strip": [strip.side(comparison.variants.get(side), plan, side, stage) for side in ("before", "after")],
            "nodes": None,
            "details": None,
            "inner": None,
        }
    )
    index, details = _embed(comparison, plan, room - weight(found))
    return found | {"nodes": plain(index), "details": plain(details)}


def _marks(marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """``choose``: what to send for a mark whose name means another as well."""
    names = Counter(name for mark in marks for name in goes_by(mark))
    return [
        {
            "name": mark.function,
            "place": clean(mark.definition.short) if mark.definition else "",
            "selected": mark.selected,
        }
        | (
            {"choose": f"{mark.function}@{mark.definition.short}"}
            if names[mark.function] > 1 and mark.definition
            else {}
        )
        for mark in marks
    ]


def plain(value: Any) -> Any:
    """The same JSON with each text :func:`whole`."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def weight(value: Any, depth: int = 8) -> int:
    """The bytes that JSON takes in a notebook's file, where every item has a line of its own, indented.

    >>> weight([1, 2], depth=0) == len("[\\n 1,\\n 2\\n]")
    True
    """
    written = json.dumps(value, indent=1, ensure_ascii=False)
    return len(written.encode("utf-8", "replace")) + depth * written.count("\n")


def picture_name(comparison: Comparison) -> str:
    """What the static picture of a report is called, so that its diagram finds it: the same for equal reports."""
    digest = hashlib.sha256(text(comparison).encode("utf-8", "backslashreplace"))
    return f"constviz diagram {digest.hexdigest()[:8]}"


def stages(comparison: Comparison) -> list[str]:
    """The stages that before or after has graphs of, in the order of compiling; ``dynamo`` always."""
    sides = [comparison.variants.get(side) for side in ("before", "after")]
    return list(dict.fromkeys(["dynamo", *(graph.stage for side in sides if side for graph in side.graphs)]))


def _embed(comparison: Comparison, plan: Plan, room: int) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The search index and all details, each if it fits beside what came before it."""
    index = _filled(plan.tree.root.items(), lambda name: searching.entry(plan, name), room)
    if index is None:
        return None, None
    tell = Details(comparison, plan)
    names = dict.fromkeys([*index, *plan.nodes])
    return index, _filled(names, tell, room - weight(index))


def _filled(names: Iterable[str], tell: Callable[[str], Mapping[str, Any]], room: int) -> dict[str, Any] | None:
    into: dict[str, Any] = {}
    for name in names:
        into[name] = tell(name)
        room -= weight(into[name]) + len(name) + 16
        if room < 0:
            return None
    return into


# -- tables ------------------------------------------------------------------------------------------------------


def _tables(comparison: Comparison, plan: Plan, extra: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    found = [
        table_of("summary", tables.summary(comparison)),
        table_of("folds", tables.folds(comparison), _of_folds(comparison, plan)),
        table_of("assumptions", tables.assumptions(comparison.assumptions), _of_assumptions(comparison, plan)),
        table_of("graph breaks", tables.graph_breaks(comparison), _of_breaks(comparison, plan)),
        table_of("guards", tables.guards(comparison)),
    ]
    more = dict(extra)
    if comparison.timings and "timings" not in more:
        from .timings import Record, timings

        more["timings"] = timings(comparison.timings, Record())
    return found + [table_of(name, frame) for name, frame in more.items()]


def table_of(name: str, frame: pd.DataFrame, nodes: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """A DataFrame as a tab has it; ``nodes``: for each row the ids of the nodes that it is about."""
    if frame.index.nlevels > 1:
        frame = frame.reset_index()
    named = frame.index.name is not None
    columns = [*([frame.index.name] if named else []), *frame.columns]
    unknown = "unknown" if "holds" in columns else ""
    rows = [
        {"cells": [_cell(cell, unknown) for cell in cells], "nodes": list(nodes[k]) if k < len(nodes) else []}
        for k, cells in enumerate(frame.head(_ROWS).itertuples(index=named, name=None))
    ]
    return {"name": name, "columns": [str(c) for c in columns], "rows": rows, "more": len(frame) - len(rows)}


def _cell(value: Any, unknown: str) -> str:
    import pandas as pd

    if value is pd.NA:
        return unknown
    if value is None or value != value:
        return ""
    if pd.api.types.is_bool(value):
        return HOLDS[bool(value)]
    if isinstance(value, float):
        return f"{value:.4g}"
    shown = clean(str(value))
    return shown if len(shown) <= _CELL else shown[: _CELL - 1] + "…"


def _of_folds(comparison: Comparison, plan: Plan) -> list[list[str]]:
    """For each fold: its constant, constants computed from it, and the nodes it stands for."""
    after = comparison.variants.get("after")
    links = iter(plan.diff.folds)
    found = []
    for fold in after.folds if after else ():
        link = next(links) if fold.outcome is Outcome.FOLDED else None
        found.append([] if link is None else list(dict.fromkeys((link.id, *link.derived, *link.inlined))))
    return found


def _of_assumptions(comparison: Comparison, plan: Plan) -> list[list[str]]:
    return [
        [link.id for link in plan.diff.folds if link.fold.function in row.function.split(", ")]
        for row in comparison.assumptions
    ]


def _of_breaks(comparison: Comparison, plan: Plan) -> list[list[str]]:
    found = []
    for variant in comparison.variants.values():
        gone = {"before": Status.ADDED, "after": Status.REMOVED}.get(variant.name)
        cuts = [cut for cut in plan.diff.cuts if gone is not None and cut.status is not gone]
        for row in variant.graph_breaks:
            cut = next((cut for cut in cuts if cut.reason == row.reason), None)
            found.append([] if cut is None else [cut.id])
            cuts = [other for other in cuts if other is not cut]
    return found
