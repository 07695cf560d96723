"""What a comparison holds, as DataFrames: the same columns always, also when there are no rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.diff import diff, fold_ids
from ..model import Assumption, Comparison, Fold, Location, Outcome, Role, Variant
from .labels import whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["assumptions", "audit", "constants", "folds", "graph_breaks", "guards", "nodes", "ops", "summary"]

_COUNTS = ("graphs", "graph_breaks", "ops", "constants", "constant_bytes", "guards")
_LARGE = 1 << 63
_FOLDS = ("function", "location", "arguments", "result", "result_type", "nbytes", "outcome", "verdict", "reason")


def summary(comparison: Comparison) -> pd.DataFrame:
    """One row a variant.  Counts are missing for a variant that is not compiled (``eager``).

    ``constants`` are the distinct values burned into the program, ``constant_bytes`` what their tensors take.
    """
    import pandas as pd

    rows = [_counts(variant) for variant in comparison.variants.values()]
    index = pd.Index(list(comparison.variants), name="variant", dtype=object)
    frame = pd.DataFrame(rows, index=index, columns=list(_COUNTS), dtype=object)
    frame = _as_integers(frame, _COUNTS, "Int64")
    frame["compile_s"] = pd.Series([v.compile_s for v in comparison.variants.values()], index=index, dtype="float64")
    return frame


def folds(comparison: Comparison, ids: bool = False) -> pd.DataFrame:
    """One row a call of a marked function in ``after``; with ``ids``, that of its result in the diagram as well."""
    after = comparison.variants.get("after")
    frame = _frame(_FOLDS, [_fold_row(fold) for fold in (after.folds if after else ())], integers=("nbytes",))
    if ids:
        frame["id"] = _ids(fold_ids(after))
    return frame


def graph_breaks(comparison: Comparison) -> pd.DataFrame:
    """One row a graph break of any variant."""
    rows = [
        (variant.name, cut.reason, _place(cut.location), cut.hint)
        for variant in comparison.variants.values()
        for cut in variant.graph_breaks
    ]
    return _frame(("variant", "reason", "location", "hint"), rows)


def assumptions(rows: Iterable[Assumption]) -> pd.DataFrame:
    """One row for each thing that is taken for granted; ``holds`` is a nullable boolean."""
    frame = _frame(
        ("function", "expression", "guard", "expected", "current", "holds"),
        [(a.function, a.expression, a.guard, a.expected, a.current or "", a.holds) for a in rows],
    )
    frame["holds"] = frame["holds"].astype("boolean")
    return frame


def audit(rows: Iterable[tuple[str, str, bool, float | None, str]]) -> pd.DataFrame:
    """One row a call and variant: whether it gave what eager gave."""
    frame = _frame(("call", "variant", "equal", "max_abs_error", "note"), list(rows))
    frame["equal"] = frame["equal"].astype("bool")
    frame["max_abs_error"] = frame["max_abs_error"].astype("float64")
    return frame


def guards(comparison: Comparison) -> pd.DataFrame:
    """One row a guard of any variant."""
    rows = [
        (variant.name, guard.type, guard.expression, guard.value)
        for variant in comparison.variants.values()
        for guard in variant.guards
    ]
    return _frame(("variant", "type", "expression", "value"), rows)


def nodes(comparison: Comparison, stage: str = "dynamo") -> pd.DataFrame:
    """One row a node of before or after; one that both have stands once, as it is in ``after``."""
    found = diff(comparison.variants.get("before"), comparison.variants.get("after"), stage)
    rows = []
    for entry in found.nodes:
        node = entry.node
        facts = (entry.graph, node.name, node.op, node.target, str(entry.status), node.shape, node.dtype or "")
        rows.append((*facts, ".".join(node.module), _place(node.location)))
    columns = ("graph", "name", "op", "target", "status", "shape", "dtype", "module", "location")
    frame = _frame(columns, rows, integers=("graph",))
    frame["id"] = _ids([entry.id for entry in found.nodes])
    return frame


def _ids(names: list[str]) -> pd.Series[Any]:
    """Ids as a front end has them."""
    import pandas as pd

    return pd.Series([whole(name) for name in names], dtype=object)


def ops(variant: Variant) -> int:
    """Operations in all graphs that Dynamo made."""
    return sum(graph.ops for graph in variant.stage("dynamo"))


def constants(variant: Variant) -> tuple[int, int]:
    """How many distinct values are burned in, and the bytes of their tensors."""
    folded = [fold for fold in variant.folds if fold.outcome is Outcome.FOLDED]
    held = {(f.graph, f.node): f.result.nbytes if f.result else 0 for f in folded if f.node is not None}
    literals = [f.result.nbytes if f.result else 0 for f in folded if f.node is None]
    ids = {fold.id for fold in folded}
    for graph in variant.stage("dynamo"):
        by_target: dict[str, tuple[int, str]] = {}
        for node in graph.nodes:
            if node.role is Role.CONSTANT and node.fold not in ids:
                key = by_target.setdefault(node.target, (graph.index, node.name))
                held.setdefault(key, node.value.nbytes if node.value else 0)
    return len(held) + len(literals), sum(held.values()) + sum(literals)


def _counts(variant: Variant) -> list[int | None]:
    if variant.compile_s is None and not variant.graphs and not variant.guards and variant.error is None:
        return [None] * len(_COUNTS)
    count, nbytes = constants(variant)
    graphs = len(variant.stage("dynamo"))
    return [graphs, len(variant.graph_breaks), ops(variant), count, nbytes, len(variant.guards)]


def _fold_row(fold: Fold) -> tuple[Any, ...]:
    result = fold.result
    return (
        fold.function,
        _place(fold.location),
        ", ".join(f"{a.name}={a.value.text}" for a in fold.arguments),
        result.text if result else "",
        result.type if result else "",
        result.nbytes if result else 0,
        str(fold.outcome),
        str(fold.verdict) if fold.verdict else "",
        fold.reason,
    )


def _place(location: Location | None) -> str:
    return location.short if location else ""


def _frame(columns: Sequence[str], rows: Iterable[tuple[Any, ...]], integers: Sequence[str] = ()) -> pd.DataFrame:
    import pandas as pd

    # object columns: the same in pandas 2 and 3, and in a frame without rows
    frame = pd.DataFrame(list(rows), columns=list(columns), dtype=object)
    return _as_integers(frame, integers, "int64")


def _as_integers(frame: pd.DataFrame, columns: Iterable[str], kind: str) -> pd.DataFrame:
    """These columns as integers of 64 bits; one with a number that needs more keeps Python's own."""
    small = [name for name in columns if all(n is None or -_LARGE <= n < _LARGE for n in frame[name])]
    return frame.astype(dict.fromkeys(small, kind))
