"""A comparison as JSON text and back: the form in which a report is saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from .model import Comparison

__all__ = ["ReportFileError", "from_json", "to_json"]

FORMAT = "constviz-report"
VERSION = 1


class ReportFileError(ValueError):
    """A file that is not a constviz report, is damaged, or was written by a newer constviz."""


def to_json(comparison: Comparison, *, indent: int = 0) -> str:
    """The comparison as JSON text.  Live outputs are left out: their descriptions stay."""
    variants = {name: replace(v, output=None) for name, v in comparison.variants.items()}
    body = _encodable(msgspec.to_builtins(replace(comparison, variants=variants)))
    for variant in body["variants"].values():
        del variant["output"]
    raw = msgspec.json.encode({"format": FORMAT, "version": VERSION, "report": body})
    return (msgspec.json.format(raw, indent=indent) if indent else raw).decode()


def _encodable(value: Any) -> Any:
    # a user's string may hold lone surrogates, which have no UTF-8 form
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(k): _encodable(v) for k, v in value.items()}
    return [_encodable(v) for v in value] if isinstance(value, (list, tuple)) else value


def from_json(text: str | bytes) -> Comparison:
    """Read what :func:`to_json` wrote.  Nothing is run or unpickled.

    Raises:
        ReportFileError: the text is no JSON, no report of ours, incomplete, or of an unknown version.
    """
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportFileError(f"not a constviz report, or cut short: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReportFileError(f'not a constviz report: no "format": "{FORMAT}" in it')
    if data.get("version") != VERSION:
        raise ReportFileError(f"report version {data.get('version')!r} is unknown here; this constviz reads {VERSION}")
    try:
        comparison = msgspec.convert(data.get("report"), Comparison)
    except msgspec.ValidationError as error:
        raise ReportFileError(f"damaged constviz report: {error}") from None
    for node in (node for v in comparison.variants.values() for graph in v.graphs for node in graph.nodes):
        heat = node.value.heat if node.value is not None else None
        if heat is not None and (min(heat.rows, heat.cols) < 1 or heat.rows * heat.cols != len(heat.values)):
            raise ReportFileError(
                f"damaged constviz report: the picture of {node.name} has not as many blocks as it says"
            )
    variants = {name: replace(v, output=v.result) for name, v in comparison.variants.items()}
    return replace(comparison, variants=variants)
