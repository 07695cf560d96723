"""A report as plain text: the same in every run, and readable alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ..analysis.verdicts import worst
from ..model import LEAD, Comparison, Fold, Variant, Verdict
from ..naming import marks_in_words
from .labels import clean, fold_call, middle
from .tables import constants, ops

__all__ = ["text"]

_WIDTH = 110
_FOLDS = 12
_BREAKS = 6


def text(comparison: Comparison) -> str:
    """What was compared, what folding changed, every fold, graph breaks, failures and notes."""
    return "\n".join(_lines(comparison))


def _lines(comparison: Comparison) -> Iterator[str]:
    place = f" ({comparison.location.short})" if comparison.location else ""
    yield _fit(f"constviz: {comparison.function}{place}, before and after assume_constant_result")
    if comparison.options:
        yield _fit("torch.compile: " + ", ".join(f"{k}={v}" for k, v in sorted(comparison.options.items())))
    if comparison.fold is not None:
        yield _fit(f"folded: {marks_in_words(comparison.marks)}")
    before, after = comparison.variants.get("before"), comparison.variants.get("after")
    yield from _verdict(after)
    if before or after:
        yield ""
        yield from _summary(before, after)
    yield ""
    yield from _folds(after)
    yield from _assumptions(comparison)
    for variant in comparison.variants.values():
        yield from _breaks(variant)
    failed = [v for v in comparison.variants.values() if v.error]
    if failed:
        yield ""
        yield from (_fit(f"{v.name} failed: {v.error.summary}") for v in failed if v.error)
    if comparison.notes:
        yield ""
        for note in comparison.notes:
            yield from _wrapped(f"note: {note}", "")


def _verdict(after: Variant | None) -> Iterator[str]:
    """The worst verdict; with how many folds have which, if they differ."""
    if after is None or (after.folds and not any(fold.verdict for fold in after.folds)):
        return
    verdicts = [fold.verdict for fold in after.folds if fold.verdict]
    counts = {verdict: verdicts.count(verdict) for verdict in reversed(Verdict)}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    yield f"verdict: {worst(verdicts)}" + (f" ({told})" if len(set(verdicts)) > 1 else "")


def _summary(before: Variant | None, after: Variant | None) -> Iterator[str]:
    sides = [_figures(before), _figures(after)]
    yield f"{'':14} {'before':>10}    {'after':>10}"
    for k, name in enumerate(("graphs", "graph breaks", "ops", "constants", "constant bytes", "guards")):
        left, right = sides[0][k], sides[1][k]
        yield f"{name:14} {left:>10} {'->' if left != right else '  '} {right:>10}"


def _figures(variant: Variant | None) -> list[str]:
    if variant is None:
        return ["-"] * 6
    count, nbytes = constants(variant)
    graphs = len(variant.stage("dynamo"))
    figures = (graphs, len(variant.graph_breaks), ops(variant), count, nbytes, len(variant.guards))
    return [str(figure) for figure in figures]


def _folds(after: Variant | None) -> Iterator[str]:
    folds = after.folds if after else ()
    if not folds:
        yield "no call of a marked function"
        return
    yield "1 call of a marked function" if len(folds) == 1 else f"{len(folds)} calls of marked functions"
    for fold in folds[:_FOLDS]:
        yield from _fold(fold)
    if len(folds) > _FOLDS:
        yield f"  and {len(folds) - _FOLDS} more: see report.folds"


def _fold(fold: Fold) -> Iterator[str]:
    place = f"{fold.location.short} " if fold.location else ""
    result = fold.result
    became = ""
    if result is not None:
        size = f", {result.nbytes} bytes" if result.nbytes else ""
        became = f" = {middle(clean(result.text), 50)} ({result.type}{size})"
    outcome = f"{fold.outcome}, {fold.verdict}" if fold.verdict else str(fold.outcome)
    yield _fit(f"  {outcome}: {place}{middle(clean(fold_call(fold)), 60)}{became}")
    if fold.reason:
        yield from _wrapped(fold.reason, "      ")


def _assumptions(comparison: Comparison) -> Iterator[str]:
    rows = [row for row in comparison.assumptions if row.guard != LEAD]
    if rows:
        yield ""
        yield "the compiled program assumes, and does not check"
        for row in rows[:_FOLDS]:
            yield _fit(f"  {row.expression} stays {row.expected} (read by {row.function})")
        if len(rows) > _FOLDS:
            yield f"  and {len(rows) - _FOLDS} more: see report.assumptions"
    named: dict[str, list[str]] = {}
    for row in comparison.assumptions:
        if row.guard == LEAD:
            named.setdefault(row.function, []).append(row.expression)
    if named:
        yield ""
        yield "not traced, so what is read is not known; the bytecode names"
        for function, expressions in list(named.items())[:_FOLDS]:
            yield _fit(f"  {', '.join(expressions)} (in {function})")
        if len(named) > _FOLDS:
            yield f"  and those of {len(named) - _FOLDS} more functions: see report.assumptions"


def _breaks(variant: Variant) -> Iterator[str]:
    if not variant.graph_breaks:
        return
    yield ""
    yield f"graph breaks of {variant.name}"
    for cut in variant.graph_breaks[:_BREAKS]:
        place = f"{cut.location.short}: " if cut.location else ""
        yield _fit(f"  {place}{cut.reason}")
        if cut.hint:
            yield _fit(f"      hint: {cut.hint}")
    if len(variant.graph_breaks) > _BREAKS:
        yield f"  and {len(variant.graph_breaks) - _BREAKS} more: see report.graph_breaks"


def _wrapped(sentence: str, indent: str) -> Iterator[str]:
    body = middle(clean(sentence), 3 * _WIDTH)
    yield from textwrap.wrap(body, _WIDTH, initial_indent=indent, subsequent_indent=indent)


def _fit(line: str, width: int = _WIDTH) -> str:
    indent = len(line) - len(line.lstrip(" "))
    body = clean(line)
    return " " * indent + (body if len(body) <= width else body[: width - 1] + "…")
