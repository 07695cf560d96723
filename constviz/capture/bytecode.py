"""What a function's bytecode says that no guard does: what it asks of a tensor, and what it writes outside itself."""

from __future__ import annotations

import collections
import dis
import types
from collections.abc import Iterator
from typing import Any

import torch

from .reach import file_of, is_library, is_library_function

__all__ = [
    "asks_for_size", "attributes_set", "changes_items", "names_used", "unguarded_questions", "unguarded_state",
    "writes_outside", "written_by",
]  # fmt: skip

_SIZES = {
    "__len__", "dim_order", "is_contiguous", "is_same_size", "itemsize", "len", "nbytes", "nelement", "numel", "shape",
    "size", "stride",
}  # fmt: skip
"""What differs with the size of a tensor.  Dynamo guards it until a size has changed once, and then no longer."""

_UNGUARDED = {
    "_base", "_backward_hooks", "_is_view", "_version", "data_ptr", "grad", "grad_fn", "id", "is_inference", "is_leaf",
    "is_pinned", "is_shared", "output_nr", "retains_grad", "storage", "storage_offset", "untyped_storage",
}  # fmt: skip
"""Facts of a tensor that ``TENSOR_MATCH`` leaves out (``torch/csrc/dynamo/guards.cpp``, ``TensorCheck``)."""

_HOOKS = {
    "_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
}  # fmt: skip
"""Of an ``nn.Module``: Dynamo guards that there are none, and only where it calls the module."""

_BY_NAME = {"attrgetter", "getattr", "hasattr", "vars"}
_CHANGES = {
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft", "insert",
    "intersection_update", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "sort",
    "symmetric_difference_update", "update", "__setitem__", "__delitem__",
}  # fmt: skip
_OF_TENSORS = {"add", "sort", "remove"}  # names that mean something else for a tensor or a module
_CONTAINERS = (list, dict, set, bytearray, collections.deque, collections.UserDict, collections.UserList)

_DEPTH = 3


def asks_for_size(fn: Any) -> bool:
    """Whether the function, or one of the user's that it names, mentions a size."""
    return any(_names(code) & _SIZES for code, _ in _codes_of(fn))


def unguarded_questions(fn: Any) -> list[str]:
    """What it mentions that a tensor is asked for and no guard covers, such as ``grad_fn`` or the user's own."""
    found = {name for code, _ in _codes_of(fn) for name in _names(code) & _UNGUARDED}
    return sorted(found.union(*(_asked_by_name(code) for code, _ in _codes_of(fn))))


def unguarded_state(fn: Any) -> list[str]:
    """What it mentions that no guard covers, whatever it is asked of."""
    found = {name for code, _ in _codes_of(fn) for name in _names(code) & _HOOKS}
    return sorted(found.union(*(_asked_of_libraries(code, namespace) for code, namespace in _codes_of(fn))))


def writes_outside(fn: Any) -> list[str]:
    """Variables and attributes that it sets and that others can see: globals, ``nonlocal`` ones, of its arguments."""
    stores = (name for code, namespace in _codes_of(fn) for _, name in _stores(code, namespace))
    return list(dict.fromkeys(stores))


def written_by(code: types.CodeType, namespace: dict[str, Any]) -> set[str]:
    """The global and closure variables that code binds anew, or in which it changes something."""
    parameters = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    found = {root for part in _nested(code) for root, _ in _stores(part, namespace)}
    own = {name for part in _nested(code) for name in part.co_cellvars}
    return (found - parameters) | (found & own)


def attributes_set(code: types.CodeType) -> set[str]:
    """The attributes that code sets, of whatever object."""
    kinds = ("STORE_ATTR", "DELETE_ATTR")
    return {str(i.argval) for part in _nested(code) for i in dis.get_instructions(part) if i.opname in kinds}


def changes_items(code: types.CodeType) -> bool:
    """Whether it sets items, or calls a method that changes a container, of whatever object."""
    parts = [instruction for part in _nested(code) for instruction in dis.get_instructions(part)]
    if any(i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for i in parts):
        return True
    return any(i.opname in ("LOAD_ATTR", "LOAD_METHOD") and i.argval in _CHANGES - _OF_TENSORS for i in parts)


def names_used(fn: Any) -> set[str]:
    """The global and closure variables that it uses, and those that the user's functions use that it names."""
    return {name for code, _ in _codes_of(fn) for name in (*code.co_names, *code.co_freevars)}


def _names(code: types.CodeType) -> set[str]:
    texts = {constant for constant in code.co_consts if isinstance(constant, str)}  # getattr(x, "grad_fn")
    return {*code.co_names, *texts}


def _asked_by_name(code: types.CodeType) -> Iterator[str]:
    """Attributes that are asked for by a name that no tensor has of itself, or that is made up as it goes."""
    if not _BY_NAME & set(code.co_names):
        return
    asking, words = "", list[str]()
    for instruction in dis.get_instructions(code):
        kind, name = instruction.opname, instruction.argval
        if kind in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD") and name in _BY_NAME:
            asking, words = str(name), []
        elif asking and kind == "LOAD_CONST" and isinstance(name, str):
            words.append(name)
        elif asking and kind.startswith("CALL"):
            if not words or asking == "vars":
                yield "an attribute by its name"
            elif not hasattr(torch.Tensor, words[0]):
                yield words[0]
            asking = ""
        elif asking and kind.startswith(("BINARY", "BUILD", "FORMAT")):  # the name is made up of parts
            yield "an attribute by its name"
            asking = ""


def _asked_of_libraries(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[str]:
    """Modules of libraries that are asked whether they have an attribute."""
    asking = ""
    for instruction in dis.get_instructions(code):
        kind, name = instruction.opname, instruction.argval
        if kind in ("LOAD_GLOBAL", "LOAD_NAME") and name in ("getattr", "hasattr"):
            asking = str(name)
        elif asking and kind in ("LOAD_GLOBAL", "LOAD_NAME"):
            if is_library(file_of(namespace.get(name))):
                yield f"{asking}({name}, ...)"
            asking = ""
        elif kind.startswith(("CALL", "LOAD_FAST", "LOAD_DEREF")):
            asking = ""


def _stores(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The variable that is written to or changed, and in words what of it."""
    parameters = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    root, owner = "", ""
    for instruction in dis.get_instructions(code):
        kind, name = instruction.opname, instruction.argval
        own = kind in ("STORE_DEREF", "DELETE_DEREF") and name not in code.co_freevars
        if kind in ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF") and not own:
            yield str(name), str(name)
        elif kind in ("STORE_ATTR", "DELETE_ATTR") and owner:
            yield root, f"{owner}.{name}"
        elif kind in ("STORE_SUBSCR", "DELETE_SUBSCR") and owner:
            yield root, f"an item of {owner}"
        elif kind in ("LOAD_ATTR", "LOAD_METHOD") and owner:
            if name in _CHANGES and _may_change(root, owner, namespace, parameters):
                yield root, f"{owner} by {name}"
            owner = f"{owner}.{name}"
            continue
        if kind.startswith(("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")):
            last = name[-1] if isinstance(name, tuple) else name  # one instruction may load two
            made_here = kind.startswith("LOAD_FAST") or last in code.co_cellvars
            root = owner = str(last) if last in parameters or not made_here else ""
        elif kind not in ("LOAD_CONST", "CACHE", "NOP"):
            root = owner = ""


def _may_change(root: str, owner: str, namespace: dict[str, Any], parameters: set[str]) -> bool:
    """Whether a method of that name may change it.  ``torch.add`` does not, nor does ``x.sort()`` of a tensor."""
    if root in parameters or owner != root:
        return False  # what becomes of arguments is seen; of attributes, what was read is known
    return root not in namespace or isinstance(namespace[root], _CONTAINERS)


def _codes_of(fn: Any, depth: int = _DEPTH) -> Iterator[tuple[types.CodeType, dict[str, Any]]]:
    """The code of a function, of those inside it, and of the user's functions that it names; each with its globals."""
    fn = getattr(fn, "__func__", fn)
    if not issubclass(type(fn), types.FunctionType):  # to ask another object may run the user's code
        return
    own = list(_nested(fn.__code__))
    yield from ((code, fn.__globals__) for code in own)
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
