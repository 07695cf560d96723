"""Drawings of closed groups' insides, for a page that has no kernel to ask for them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

from .drawing import drawings
from .layout import LayoutError
from .payload import plain
from .stage import Stage

__all__ = ["insides", "packed"]

_AT_ONCE = 64  # drawings in one run of the engine


def insides(stage: Stage, room: int) -> dict[str, dict[str, str]]:
    """For each group that is closed at first, and each in it, its packed drawing, in at most ``room`` bytes.

    Outer groups come first, among them those with folds.  Groups that no engine can draw are left out.
    """
    found: dict[str, dict[str, str]] = {}
    keys = list(_closed(stage))
    for k in range(0, len(keys), _AT_ONCE):
        part = keys[k : k + _AT_ONCE]
        try:
            drawn = drawings(stage.plan, {key: stage.plan.inside(key) for key in part}, stage=stage.name)
        except LayoutError:
            continue
        for key, view in zip(part, drawn, strict=True):
            text = packed(plain(view))
            room -= len(text) + len(key) + 16
            if room < 0:
                return found
            found[key] = {"z": text}
    return found


def packed(value: Any) -> str:
    """JSON in base64 of gzip; the same for the same value.

    >>> json.loads(gzip.decompress(base64.b64decode(packed({"a": 1}))))
    {'a': 1}
    """
    text = json.dumps(value, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _closed(stage: Stage) -> Iterator[str]:
    """The groups to draw, level by level; not those that are alone in another, for they are drawn with it."""
    opened, tree = stage.opening.keys, stage.plan.tree
    level = [tree.root]
    while level:
        groups = [child for group in level for child in group.groups()]
        shown = [child for group in level if len(group.children) > 1 or group is tree.root for child in group.groups()]
        yield from (g.key for g in sorted(shown, key=lambda g: -g.hot) if g.key not in opened)
        level = groups
