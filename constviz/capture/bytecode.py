"""What a function's bytecode says that no guard does: what it asks of a tensor, and what it writes outside itself."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any

from .reach import is_library_function

__all__ = ["asks_for_size", "unguarded_questions", "writes_outside"]

_SIZES = {
    "dim_order", "is_contiguous", "is_same_size", "itemsize", "len", "nbytes", "nelement", "numel", "shape", "size",
    "stride",
}  # fmt: skip
"""What differs with the size of a tensor.  Dynamo guards it until a size has changed once, and then no longer."""

_UNGUARDED = {
    "_base", "_backward_hooks", "_is_view", "_version", "data_ptr", "grad", "grad_fn", "id", "is_inference", "is_leaf",
    "is_pinned", "is_shared", "output_nr", "retains_grad", "storage", "storage_offset", "untyped_storage",
}  # fmt: skip
"""Facts of a tensor that ``TENSOR_MATCH`` leaves out (``torch/csrc/dynamo/guards.cpp``, ``TensorCheck``)."""

_DEPTH = 3


def asks_for_size(fn: Any) -> bool:
    """Whether the function, or one of the user's that it names, mentions a size."""
    return any(_names(code) & _SIZES for code in _codes_of(fn))


def unguarded_questions(fn: Any) -> list[str]:
    """What it mentions that a tensor is asked for and no guard covers, such as ``grad_fn``."""
    return sorted({name for code in _codes_of(fn) for name in _names(code) & _UNGUARDED})


def writes_outside(fn: Any) -> list[str]:
    """Variables and attributes that it sets and that others can see: globals, ``nonlocal`` ones, of its arguments."""
    return list(dict.fromkeys(name for code in _codes_of(fn) for name in _stores(code)))


def _names(code: types.CodeType) -> set[str]:
    texts = {constant for constant in code.co_consts if isinstance(constant, str)}  # getattr(x, "grad_fn")
    return {*code.co_names, *texts}


def _stores(code: types.CodeType) -> Iterator[str]:
    parameters = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    owner = ""
    for instruction in dis.get_instructions(code):
        kind, name = instruction.opname, instruction.argval
        own = kind in ("STORE_DEREF", "DELETE_DEREF") and name not in code.co_freevars
        if kind in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF") and not own:
            yield str(name)
        elif kind in ("STORE_ATTR", "DELETE_ATTR") and owner:
            yield f"{owner}.{name}"
        elif kind in ("STORE_SUBSCR", "DELETE_SUBSCR") and owner:
            yield f"an item of {owner}"
        if kind.startswith(("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")):
            last = name[-1] if isinstance(name, tuple) else name  # one instruction may load two
            made_here = kind.startswith("LOAD_FAST") or last in code.co_cellvars
            owner = str(last) if last in parameters or not made_here else ""
        elif kind not in ("LOAD_CONST", "CACHE", "NOP"):
            owner = ""


def _codes_of(fn: Any, depth: int = _DEPTH) -> Iterator[types.CodeType]:
    """The code of a function, of those inside it, and of the user's functions that it names."""
    fn = getattr(fn, "__func__", fn)
    if not issubclass(type(fn), types.FunctionType):  # to ask another object may run the user's code
        return
    own = list(_nested(fn.__code__))
    yield from own
    if not depth:
        return
    names = {name for code in own for name in code.co_names}
    used = [fn.__globals__.get(name) for name in sorted(names)]
    for cell in fn.__closure__ or ():
        try:
            used.append(cell.cell_contents)
        except ValueError:  # not yet filled
            continue
    for other in used:
        if issubclass(type(other), types.FunctionType) and other is not fn and not is_library_function(other):
            yield from _codes_of(other, depth - 1)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
