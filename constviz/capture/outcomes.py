"""What became of each call of a marked function: the recorder's raw folds as rows of the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..model import Fold, Graph, Node, Outcome, Variant
from .describe import function_name
from .events import Frame, RawFold, definition_of, split_reason
from .inert import inert_folds
from .record import Recorder
from .statistics import with_statistics

__all__ = ["with_folds"]

_EMPTY = "No ops traced"


def with_folds(variant: Variant, recorder: Recorder, top: Any) -> Variant:
    """The variant with its folds, and with each constant of its graphs tied to the fold that made it."""
    rows = _rows(variant, recorder)
    graphs = tuple(_tied(graph, rows, recorder) for graph in variant.graphs)
    folds = tuple(_placed(fold, position, recorder, graphs) for position, fold in rows.items())
    return replace(variant, graphs=graphs, folds=folds + tuple(inert_folds(recorder, top, variant.name)))


def _rows(variant: Variant, recorder: Recorder) -> dict[int, Fold]:
    """The folds that count, by their position in the recorder."""
    rows: dict[int, Fold] = {}
    refused: set[tuple[int, str, int]] = set()
    blamed = _blamed(recorder)
    for frame in recorder.frames:
        final = frame.attempts[-1] if frame.attempts else None
        for position in frame.folds:
            raw = recorder.folds[position]
            if not raw.marked:
                continue
            if raw.error is None and raw.site.attempt is not final:
                continue  # Dynamo began the frame anew; the later attempt has this call again
            if raw.error is not None:
                key = (id(raw.fn), raw.site.location.file, raw.site.location.line)
                if key in refused:
                    continue
                refused.add(key)
            outcome, reason = _outcome(raw, frame, variant, position in blamed)
            rows[position] = Fold(
                id=f"{variant.name}/{len(rows)}",
                function=function_name(raw.fn),
                outcome=outcome,
                location=raw.site.location,
                definition=definition_of(raw.fn),
                arguments=raw.arguments,
                result=raw.result and with_statistics(raw.result, raw.answer),
                reason=reason,
                position=position,
            )
    return rows


def _outcome(raw: RawFold, frame: Frame, variant: Variant, blamed: bool) -> tuple[Outcome, str]:
    failure = variant.error.summary if variant.error else ""
    if frame.error is not None or blamed:
        return Outcome.ERROR, failure or f"{type(frame.error).__name__}: {frame.error}"
    if raw.error is not None:
        reason = split_reason(str(raw.error))
        return Outcome.GRAPH_BREAK, f"{reason['reason']}: the function was really called, between two graphs"
    if frame.compiled:
        return Outcome.FOLDED, "called once while tracing; the compiled program will not call it again"
    why = frame.unsupported or frame.skip_reason
    if _EMPTY in frame.skip_reason or not why:
        return Outcome.FRAME_SKIPPED, "everything folded away, no operation was left, so Dynamo runs the frame eagerly"
    return Outcome.FRAME_SKIPPED, f"Dynamo runs the frame eagerly: {split_reason(why)['reason']}"


def _blamed(recorder: Recorder) -> set[int]:
    """Folds in a program that compiled and then failed: those whose result is an object if any, else all."""
    if recorder.error is None or any(frame.error is not None for frame in recorder.frames):
        return set()
    everything = {i for i, raw in enumerate(recorder.folds) if raw.marked and raw.error is None}
    return {i for i in everything if recorder.folds[i].target} or everything


def _tied(graph: Graph, rows: dict[int, Fold], recorder: Recorder) -> Graph:
    return replace(graph, nodes=tuple(_tie(node, rows, recorder) for node in graph.nodes))


def _tie(node: Node, rows: dict[int, Fold], recorder: Recorder) -> Node:
    if node.fold is None:
        return node
    position = int(node.fold)
    roots = [root for root in _roots(position, recorder) if root in rows]
    value = node.value and with_statistics(node.value, recorder.folds[position].answer)
    return replace(node, fold=rows[roots[0]].id if roots else None, value=value)


def _roots(position: int, recorder: Recorder, depth: int = 0) -> Iterable[int]:
    """The marked folds that a constant comes from."""
    raw = recorder.folds[position]
    if raw.marked or depth > 50:
        return [position]
    return [root for parent in raw.parents for root in _roots(parent, recorder, depth + 1)]


def _placed(fold: Fold, position: int, recorder: Recorder, graphs: tuple[Graph, ...]) -> Fold:
    raw = recorder.folds[position]
    frame = next((f for f in recorder.frames if position in f.folds), None)
    if frame is None or not frame.graphs:
        return fold
    graph = graphs[frame.graphs[-1]]
    mine = [node for node in graph.nodes if node.fold == fold.id]
    own = next((node.name for node in mine if node.op == "get_attr" and node.target == raw.target), None)
    derived = tuple(node.name for node in mine if node.name != own)
    users = (node.name for node in graph.nodes if own is not None and own in node.inputs)
    consumers = tuple(dict.fromkeys((*users, *recorder.consumer_names(raw))))
    return replace(fold, graph=graph.index, node=own, derived=derived, consumers=consumers)
