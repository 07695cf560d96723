"""Other ways to write the same thing: what ``against`` may hold, and how each is called."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .capture.describe import function_name
from .capture.seam import CompileOptions, compiled_parts

__all__ = ["Against", "Alternative", "alternatives"]

Against = Mapping[str, Any] | Iterable[Any] | Callable[..., Any]

_RESERVED = ("eager", "before", "after", "guarded", "propagated")


@dataclass(frozen=True)
class Alternative:
    """A way to write the same thing."""

    name: str
    fn: Any
    args: tuple[Any, ...] | None = None
    """Its own arguments, if it does not take those of the program."""
    options: CompileOptions | None = None
    """How it is compiled; None if it is called as it is."""


def alternatives(against: Against | None, options: CompileOptions) -> list[Alternative]:
    """Read ``against``: a function, several, or a dictionary of them by name; ``(function, args)`` for own arguments.

    One that is compiled already keeps its options.  A plain function or module is compiled with those of the program,
    and what is no Python function (``torch.jit.script``, ``torch.jit.trace``, a builtin) is called as it is.

    Raises:
        TypeError: something in it cannot be called.
    """
    if against is None:
        return []
    if isinstance(against, Mapping):
        named = [(str(name), value) for name, value in against.items()]
    else:
        values = [against] if callable(against) or _has_own_arguments(against) else list(against)
        named = [("", value) for value in values]
    found: list[Alternative] = []
    for name, value in named:
        fn, args = value if _has_own_arguments(value) else (value, None)
        if not callable(fn):
            raise TypeError(f"against takes functions, or (function, (x,)), not {type(fn).__name__}")
        taken = {*_RESERVED, *(other.name for other in found)}
        found.append(_alternative(_free(name or _name_of(fn), taken), fn, args, options))
    return found


def _has_own_arguments(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and callable(value[0]) and isinstance(value[1], tuple)


def _alternative(name: str, fn: Any, args: tuple[Any, ...] | None, options: CompileOptions) -> Alternative:
    if isinstance(fn, (torch.jit.ScriptFunction, torch.jit.ScriptModule)):
        return Alternative(name, fn, args)
    parts = compiled_parts(fn)
    if parts is not None:
        return Alternative(name, parts[0], args, parts[1])
    function = fn.func if isinstance(fn, functools.partial) else fn
    is_python = isinstance(function, torch.nn.Module) or hasattr(getattr(function, "__func__", function), "__code__")
    return Alternative(name, fn, args, options if is_python else None)


def _name_of(fn: Any) -> str:
    if isinstance(fn, torch.nn.Module):
        return type(fn).__name__
    name = function_name(fn.func if isinstance(fn, functools.partial) else fn)
    return "lambda" if name.endswith("<lambda>") else name


def _free(name: str, taken: set[str]) -> str:
    number, candidate = 2, name
    while candidate in taken:
        candidate, number = f"{name} {number}", number + 1
    return candidate
