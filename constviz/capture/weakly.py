"""Holding a captured function without keeping it, its model or its inputs alive."""

from __future__ import annotations

import re
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .readings import Scope

__all__ = ["WeakValues", "weak_scope", "weak_target"]


class WeakValues(Mapping[str, Any]):
    """Variables held weakly where that is possible, as it is for modules, tensors and functions."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._read = {name: _weak(value) for name, value in values.items()}

    def __getitem__(self, name: str) -> Any:
        value = self._read[name]()
        if value is _GONE:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


def weak_scope(scope: Scope, source: str) -> Scope:
    """The scope with only those variables that ``source`` names."""
    names = set(re.findall(r"L\['(\w+)'\]", source))
    return Scope(
        WeakValues({name: value for name, value in scope.local.items() if name in names}),
        scope.globals,
        {name: cell for name, cell in scope.cells.items() if name in names},
    )


def weak_target(target: Any, when_gone: Callable[[], None]) -> Callable[[], Any]:
    """A function that gives the target, or None when it is gone; ``when_gone`` is told of that."""
    if isinstance(target, types.MethodType):  # made anew at each look-up: its parts are what lives
        owner, function = weak_target(target.__self__, when_gone), target.__func__
        return lambda: types.MethodType(function, found) if (found := owner()) is not None else None

    def gone(ref: weakref.ref[Any], tell: Callable[[], None] = when_gone) -> None:
        tell()

    try:
        return weakref.ref(target, gone)
    except TypeError:
        return lambda: target


_GONE = object()


def _weak(value: Any) -> Callable[[], Any]:
    try:
        ref = weakref.ref(value)
    except TypeError:
        return lambda: value
    return lambda: _GONE if (found := ref()) is None else found
