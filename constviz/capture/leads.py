"""What a function reads that no guard can show: library calls and names found in its bytecode."""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ..model import LEAD, Assumption
from .assumptions import LiveAssumption
from .describe import describe, function_name
from .reach import is_library
from .readers import function_of, is_frame_of
from .record import Recorder

__all__ = ["is_traced", "leads", "library_calls", "names_read"]

_PURE = {
    "_collections", "_functools", "_operator", "abc", "ast", "builtins", "cmath", "collections", "copy", "dataclasses",
    "enum", "fractions", "functools", "itertools", "math", "numbers", "operator", "re", "string", "textwrap", "types",
    "typing",
}  # fmt: skip
"""Modules whose functions answer from their arguments alone."""

_GUARDED = {
    "are_deterministic_algorithms_enabled", "get_default_dtype", "get_float32_matmul_precision",
    "get_num_threads", "is_autocast_enabled", "is_deterministic_algorithms_warn_only_enabled", "is_grad_enabled",
}  # fmt: skip
"""State of torch that Dynamo's global-state guard covers (``convert_frame``'s ``GLOBAL_STATE``)."""

_FIXED = {"torch.cuda.is_available", "torch.cuda.device_count", "torch.backends.mps.is_available"}
"""Facts of the machine that do not change while a process lives."""


def library_calls(fn: Any, depth: int = 3) -> list[str]:
    """Names of library functions that ``fn`` may call whose answer is neither guarded nor a plain computation."""
    return list(dict.fromkeys(_library_calls(fn, depth, set())))


def names_read(fn: Any, owner: Any = None) -> list[tuple[str, str]]:
    """What the function's own bytecode reads, with its value: globals, closure variables, ``owner``, attributes."""
    found = {}
    for chain, value in _chains(fn, owner):
        if not isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
            found[".".join(chain)] = describe(value).text
    return list(found.items())


def is_traced(fn: Any, before: Recorder) -> bool:
    """Whether Dynamo, ignoring the mark, traced the function to its end at every call."""
    reads = before.reads_of(fn)
    own_frames = any(is_frame_of(frame, fn) for frame in before.frames)
    return bool(reads) and all(found.traced for found in reads) and not own_frames


def leads(before: Recorder, after: Recorder, known: Iterable[LiveAssumption]) -> Iterator[Assumption]:
    """What folded functions read that could not be traced, as far as their bytecode tells."""
    listed = [(name, assumption.expression) for assumption in known for name in assumption.functions]
    seen: set[tuple[str, str]] = set()
    for raw in after.folds:
        fn, owner, name = function_of(raw.fn), getattr(raw.fn, "__self__", None), function_name(raw.fn)
        if not raw.marked or raw.error is not None or is_traced(fn, before) or not hasattr(fn, "__code__"):
            continue
        called = [(f"{call}()", "") for call in library_calls(fn)]
        for expression, value in (*names_read(fn, owner), *called):
            if (name, expression) in seen or any(f == name and e.startswith(expression) for f, e in listed):
                continue
            seen.add((name, expression))
            yield Assumption(name, expression, LEAD, value)


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
    bound = isinstance(value, (types.BuiltinFunctionType, types.MethodType))
    return bound and value.__self__ is not None and not isinstance(value.__self__, types.ModuleType)


def _chains(fn: Any, owner: Any = None) -> Iterator[tuple[tuple[str, ...], Any]]:
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
            elif owner is not None and instruction.opname.startswith("LOAD_FAST") and name == code.co_varnames[0]:
                if chain:
                    yield tuple(chain), value
                chain, value = [str(name)], owner
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
