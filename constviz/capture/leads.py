"""What a function reads that no guard can show: library calls and names found in its bytecode."""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

from .describe import describe
from .reach import is_library

__all__ = ["library_calls", "names_read"]

_PURE = {
    "_operator", "abc", "ast", "builtins", "cmath", "collections", "copy", "dataclasses", "enum", "fractions",
    "functools", "itertools", "math", "numbers", "operator", "re", "string", "textwrap", "types", "typing",
}  # fmt: skip
"""Modules whose functions answer from their arguments alone."""

_GUARDED = {
    "are_deterministic_algorithms_enabled", "get_autocast_dtype", "get_default_dtype", "get_float32_matmul_precision",
    "get_num_threads", "is_autocast_enabled", "is_deterministic_algorithms_warn_only_enabled", "is_grad_enabled",
}  # fmt: skip
"""State of torch that Dynamo's global-state guard covers (``convert_frame``'s ``GLOBAL_STATE``)."""

_FIXED = {"torch.cuda.is_available", "torch.cuda.device_count", "torch.backends.mps.is_available"}
"""Facts of the machine that do not change while a process lives."""


def library_calls(fn: Any, depth: int = 3) -> list[str]:
    """Names of library functions that ``fn`` may call whose answer is neither guarded nor a plain computation."""
    return list(dict.fromkeys(_library_calls(fn, depth, set())))


def names_read(fn: Any) -> list[tuple[str, str]]:
    """The globals, closure variables and their attributes that the function's own bytecode reads, with their values."""
    found = {}
    for chain, value in _chains(fn):
        if not isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
            found[".".join(chain)] = describe(value).text
    return list(found.items())


def _library_calls(fn: Any, depth: int, done: set[Any]) -> Iterator[str]:
    code = getattr(fn, "__code__", None)
    if code is None or code in done:
        return
    done.add(code)
    for chain, value in _chains(fn):
        if not callable(value) or isinstance(value, type):
            continue
        module = getattr(value, "__module__", None) or ""
        if isinstance(value, types.FunctionType) and not is_library(value.__code__.co_filename):
            if depth:
                yield from _library_calls(value, depth - 1, done)
        elif not _is_plain(chain, value, module):
            yield ".".join(chain)


def _is_plain(chain: tuple[str, ...], value: Any, module: str) -> bool:
    root = module.split(".")[0]
    if root in _PURE or ".".join(chain) in _FIXED:
        return True
    if root == "torch" or isinstance(value, torch._ops.OpOverloadPacket):
        is_op = isinstance(value, types.BuiltinFunctionType) or module in ("torch.functional", "torch.nn.functional")
        return chain[-1] in _GUARDED or (is_op and not chain[-1].startswith(("is_", "get_")))
    return getattr(value, "__self__", None) is not None and not isinstance(value.__self__, types.ModuleType)


def _chains(fn: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each global or closure name in the bytecode with the attributes taken from it, and what that is now."""
    for code in _codes(fn.__code__):
        chain: list[str] = []
        value: Any = None
        for instruction in dis.get_instructions(code):
            name = instruction.argval
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                if chain:
                    yield tuple(chain), value
                chain, value = _start(fn, str(name))
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
                inner = _static(value, str(name))
                if inner is None:
                    yield tuple(chain), value
                    chain = []
                else:
                    chain.append(str(name))
                    value = inner
            elif instruction.opname not in ("CACHE", "PRECALL", "PUSH_NULL", "NOP"):
                if chain:
                    yield tuple(chain), value
                chain = []
        if chain:
            yield tuple(chain), value


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _start(fn: Any, name: str) -> tuple[list[str], Any]:
    if name in fn.__code__.co_freevars:
        try:
            return [name], fn.__closure__[fn.__code__.co_freevars.index(name)].cell_contents
        except ValueError:
            return [], None
    if name in fn.__globals__:
        return [name], fn.__globals__[name]
    return ([name], vars(builtins)[name]) if name in ("open", "input") else ([], None)


def _static(owner: Any, name: str) -> Any:
    if isinstance(owner, types.ModuleType):
        return vars(owner).get(name) or sys.modules.get(f"{owner.__name__}.{name}")
    if isinstance(owner, (dict, list, set, str)):
        return None
    try:
        return inspect.getattr_static(owner, name)
    except AttributeError:
        return None
