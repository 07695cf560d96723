"""Marks that Dynamo never sees: on a partial, an instance, a classmethod object, a cache, a compiled function."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

import torch

from ..model import Fold, Location, Outcome
from .describe import called_function, function_name
from .events import definition_of
from .record import Recorder
from .seam import compiled_parts, has_own_mark, is_marked, unwrap

__all__ = ["inert_folds"]

_LOOK = "Dynamo reads marks only on the Python functions that it traces into"
_WHY = {
    "partial": "the mark is on a functools.partial object; mark the function inside it",
    "lru_cache": "the mark is on the lru_cache wrapper, which Dynamo unwraps; put lru_cache outside the mark",
    "classmethod": "the mark is on the classmethod or staticmethod object; put the mark below the decorator",
    "compiled": "the mark is on a function that torch.compile returned; mark the function before compiling it",
    "module": "the mark is on an nn.Module instance; mark its method",
    "instance": "the mark is on a callable instance; mark its __call__ method",
    "top": "the mark is on the compiled function itself; a mark counts only for calls made from compiled code",
}


def inert_folds(recorder: Recorder, top: Any, prefix: str) -> list[Fold]:
    """One row for each traced call of something whose mark had no effect."""
    rows: dict[tuple[str, str], Fold] = {}
    for name, kind, inner in _marked_objects(recorder, top):
        code = _code_of(inner)
        sites: list[Location | None] = [c.site for c in recorder.inlined_calls if code is not None and c.code is code]
        if kind == "top" or (not sites and (code is None or any(f.code is code for f in recorder.frames))):
            sites = [None]
        for site in sites:
            key = (name, site.short if site else "")
            rows.setdefault(
                key,
                Fold(
                    id=f"{prefix}/inert{len(rows)}",
                    function=name,
                    outcome=Outcome.INERT,
                    location=site or definition_of(inner),
                    definition=definition_of(inner),
                    reason=f"{_WHY[kind]} ({_LOOK})" if kind != "top" else _WHY[kind],
                ),
            )
    return list(rows.values())


def _marked_objects(recorder: Recorder, top: Any) -> Iterator[tuple[str, str, Any]]:
    function = called_function(top)
    if is_marked(function):
        yield function_name(function), "top", function
    seen: set[int] = set()
    for name, value in _named_values(recorder):
        if id(value) in seen or not has_own_mark(value):
            continue
        seen.add(id(value))
        kind, inner = _kind(value)
        if kind and not is_marked(inner):
            shown = function_name(inner) if kind in ("classmethod", "lru_cache", "compiled") else name
            yield shown, kind, inner


def _kind(value: Any) -> tuple[str, Any]:
    if isinstance(value, functools.partial):
        return "partial", value.func
    if isinstance(value, (classmethod, staticmethod)):
        return "classmethod", value.__func__
    if isinstance(value, torch.nn.Module):
        return ("compiled", unwrap(value)) if compiled_parts(value) else ("module", type(value).forward)
    if isinstance(value, types.FunctionType):
        return ("compiled", unwrap(value)) if compiled_parts(value) else ("", value)
    if hasattr(value, "cache_info") and hasattr(value, "__wrapped__"):
        return "lru_cache", value.__wrapped__
    call = inspect.getattr_static(type(value), "__call__", None)
    return ("instance", call) if isinstance(call, types.FunctionType) else ("", value)


def _code_of(fn: Any) -> types.CodeType | None:
    if isinstance(fn, torch.nn.Module):
        fn = type(fn).forward
    return getattr(inspect.unwrap(fn), "__code__", None) if callable(fn) else None


def _named_values(recorder: Recorder) -> Iterator[tuple[str, Any]]:
    """What the traced functions name: globals, closures, arguments, and attributes of those."""
    scopes: list[tuple[types.CodeType, dict[str, Any]]] = []
    for frame in recorder.frames:
        scopes.append((frame.code, {**_globals(frame.code, frame.f_globals), **frame.f_locals}))
    for call in recorder.inlined_calls:
        if isinstance(call.fn, types.FunctionType):
            scopes.append((call.code, {**_globals(call.code, call.fn.__globals__), **_closure(call.fn, call.owner)}))
    done: set[tuple[int, int]] = set()
    for code, names in scopes:
        for name, value in names.items():
            if (id(code), id(value)) in done:
                continue
            done.add((id(code), id(value)))
            yield name, value
            if isinstance(value, (type, types.ModuleType)) or hasattr(value, "__dict__"):
                for attribute in code.co_names:
                    held = inspect.getattr_static(value, attribute, None)
                    if held is not None:
                        yield f"{name}.{attribute}", held
                    module = _submodule(value, attribute)
                    if module is not None:
                        yield f"{name}.{attribute}", module


def _submodule(value: Any, name: str) -> Any:
    return dict(value.named_children()).get(name) if isinstance(value, torch.nn.Module) else None


def _globals(code: types.CodeType, namespace: dict[str, Any]) -> dict[str, Any]:
    return {name: namespace[name] for name in code.co_names if name in namespace}


def _closure(fn: types.FunctionType, owner: Any) -> dict[str, Any]:
    values = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not yet filled
            continue
    if owner is not None and fn.__code__.co_varnames:
        values[fn.__code__.co_varnames[0]] = owner
    return values
