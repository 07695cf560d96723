"""Reading a value again by Dynamo's name for it, without running any of the user's code."""

from __future__ import annotations

import ast
import collections
import contextlib
import enum
import functools
import inspect
import itertools
import re
import sys
import threading
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .describe import describe
from .memory import NotComparableError, copied, pairs

__all__ = ["Expectation", "Scope", "UnreadableError", "read"]

_SMALL = 4096
"""Elements up to which a tensor is compared each time; larger ones only when autograd says they were written."""

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size, torch.layout)
_ON_FUNCTIONS = ("FUNCTION_MATCH", "CLOSURE_MATCH")
_FIELD = type(vars(collections.namedtuple("_", "x"))["x"])
_STORED = (types.MemberDescriptorType, types.GetSetDescriptorType, _FIELD)


class UnreadableError(LookupError):
    """The value is gone, or could only be had by running code."""


@dataclass(frozen=True)
class Scope:
    """Where a name is looked up: the locals and globals of the frame whose guard it is."""

    local: Mapping[str, Any]
    globals: Mapping[str, Any]
    cells: Mapping[str, types.CellType]
    """Closure cells: a variable of an enclosing function may be bound anew."""


def read(name: str, scope: Scope) -> Any:
    """The value that ``name`` (``G['CFG']['scale']``, ``L['self'].training``) stands for now.

    Raises:
        UnreadableError: there is no such thing any more, or a property or ``__getattr__`` would have to run.
    """
    return _read(_parsed(name), scope)


@functools.lru_cache(maxsize=4096)
def _parsed(name: str) -> ast.expr:
    try:
        return ast.parse(name.strip(), mode="eval").body
    except SyntaxError:
        raise UnreadableError(name) from None


def _read(node: ast.expr, scope: Scope) -> Any:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ("L", "G"):
        return _variable(node.value.id, _read(node.slice, scope), scope)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Subscript):
        return _item(_read(node.value, scope), _read(node.slice, scope))
    if isinstance(node, ast.Attribute):
        return _attribute(_read(node.value, scope), node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return _call(node.func.id, _read(node.args[0], scope))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr":
        return _has(*(_read(argument, scope) for argument in node.args))
    raise UnreadableError(ast.dump(node))


def _variable(kind: str, name: Any, scope: Scope) -> Any:
    alias = re.fullmatch(r"__import_(\w+)", str(name))
    if kind == "G" and alias and name not in scope.globals:  # Dynamo's own name for an imported module
        return _module(alias[1].replace("_dot_", "."))
    try:
        if kind == "L" and name in scope.cells:
            return scope.cells[name].cell_contents
        return (scope.local if kind == "L" else scope.globals)[name]
    except (KeyError, ValueError):
        raise UnreadableError(str(name)) from None


def _module(name: str) -> Any:
    if name not in sys.modules:
        raise UnreadableError(name)
    return sys.modules[name]


def _item(owner: Any, key: Any) -> Any:
    for kind in (dict, list, tuple):
        if _is(owner, kind):
            try:
                return kind.__getitem__(owner, key)
            except (KeyError, IndexError, TypeError):
                raise UnreadableError(repr(key)) from None
    raise UnreadableError(f"{type(owner).__name__}[{key!r}]")


def _call(name: str, value: Any) -> Any:
    if name == "type":
        return type(value)
    if name == "dict" and _is(value, (dict, types.MappingProxyType)):
        return dict(value)
    if name in ("list", "len") and _is(value, dict):  # of its keys
        return dict.__len__(value) if name == "len" else tuple(dict.keys(value))
    if name == "___from_numpy":
        return value
    if name == "__import__" and _is(value, str):
        return _module(value)
    raise UnreadableError(name)


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled any more
        raise UnreadableError("cell_contents") from None


def _attribute(owner: Any, name: str) -> Any:
    if _is(owner, types.ModuleType):
        if name in vars(owner):
            return vars(owner)[name]
        if owner.__name__.split(".")[0] == "torch":  # torch.backends flags are properties, of torch's own
            return getattr(owner, name)
        return _module(f"{owner.__name__}.{name}")
    if name == "cell_contents" and _is(owner, types.CellType):
        return _cell(owner)
    if name == "__closure__" and _is(owner, types.FunctionType):
        return owner.__closure__
    if _is(owner, threading.local):
        owner = types.SimpleNamespace(**owner.__dict__)
    try:
        own = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        own = {}
    if not _is(owner, type):
        if name == "__dict__":
            return own
        if name in own:
            return own[name]
        for table in ("_parameters", "_buffers", "_modules") if _is(owner, torch.nn.Module) else ():
            if name in own.get(table, {}):
                return own[table][name]
    if name == "__dict__" and _is(owner, type):
        return owner.__dict__
    missing = object()
    static = inspect.getattr_static(owner, name, missing)
    if static is missing:
        raise UnreadableError(name)
    if isinstance(static, _STORED):
        try:
            return static.__get__(owner, type(owner))
        except (AttributeError, ValueError):
            raise UnreadableError(name) from None
    if isinstance(static, staticmethod):
        return static.__func__
    if isinstance(static, property) or (hasattr(type(static), "__get__") and not isinstance(static, _FUNCTIONS)):
        raise UnreadableError(name)
    return static


def _has(owner: Any, name: Any) -> bool:
    """Whether it is there, or in there for a dict; what ``__getattr__`` would make up is not."""
    if _is(owner, dict):
        return dict.__contains__(owner, name)
    try:
        _attribute(owner, name)
    except UnreadableError:
        missing = object()
        return inspect.getattr_static(owner, name, missing) is not missing
    return True


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type, classmethod)


def _is(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """``isinstance``, but for what the value itself has to say about its class: that would be the user's code."""
    return issubclass(type(value), kinds)


# -- what a value was, to be compared with what it is ------------------------------------------------------------


class Expectation:
    """What a guard would have checked: the value seen while tracing, in the form that its guard type compares."""

    def __init__(self, guard_type: str, value: Any, aliased: bool = False) -> None:
        self.guard_type = guard_type
        self.aliased = aliased
        """The graph holds this very tensor or array: writes into it are seen, only another object is not."""
        self.text = _expected_text(guard_type, value)
        self._shape = _outline(guard_type, value)
        self._value = _held(value if self._shape is None else None)
        self._content: torch.Tensor | None = None
        self._version = 0
        if _is(value, torch.Tensor) and value.device.type != "meta":
            self._content = copied(value)
            self._version = 0 if value.is_inference() else value._version
        self._code = value.__code__ if guard_type in _ON_FUNCTIONS and type(value) is types.FunctionType else None
        self._array = value.copy() if type(value).__name__ == "ndarray" else None
        self._is_tensor = _is(value, torch.Tensor)

    def text_of(self, value: Any) -> str:
        """Another value in the same words."""
        if self._shape is None and type(value) in (bool, int, float):  # the usual ones: describe takes its time
            return repr(value)
        if self._shape is None and not _is_tellable(value):
            return f"{type(value).__name__} object"
        return _expected_text(self.guard_type, value)

    def holds(self, now: Any) -> bool:
        """Whether ``now`` would have passed."""
        if self._shape is not None:
            return bool(_outline(self.guard_type, now) == self._shape)
        value = self._value()
        if _is(value, itertools.count):
            return True  # an iterator that has moved on: nothing to compare
        if self._is_tensor:
            return self._same_tensor(now, value)
        if _is_plain(value):
            return _same_plain(value, now)
        return (now is value and self.aliased) or self._same_object(now, value)

    def _same_object(self, now: Any, value: Any) -> bool:
        if self._array is not None:
            return _equal_arrays(now, self._array)
        if self._code is not None:
            return type(now) is types.FunctionType and _same_code(now.__code__, self._code)
        return now is value

    def _same_tensor(self, now: Any, value: Any) -> bool:
        if not _is(now, torch.Tensor):
            return False
        if now is value:
            if self.aliased or self._content is None:
                return True
            if now.numel() > _SMALL and not now.is_inference() and now._version == self._version:
                return True
        if self._content is None or now.dtype != self._content.dtype:
            return False
        try:
            return now.shape == self._content.shape and all(torch.equal(*pair) for pair in pairs(now, self._content))
        except (RuntimeError, NotComparableError):
            return False


def _held(value: Any) -> Callable[[], Any]:
    """Weakly where that is possible: to watch a model must not keep it alive."""
    if not _is_plain(value):
        with contextlib.suppress(TypeError):
            return weakref.ref(value)
    return lambda: value


def _is_plain(value: Any) -> bool:
    """Whether it can be compared without running any of the user's code."""
    if type(value) in (tuple, frozenset):
        return all(_is_plain(item) for item in value)
    numpy = sys.modules.get("numpy")
    return type(value) in (slice, range, *_PLAIN) or (
        numpy is not None and type(value).__module__ == "numpy" and _is(value, numpy.generic)
    )


def _is_tellable(value: Any, depth: int = 3) -> bool:
    """Whether it can be put into words without a ``__repr__`` of the user's."""
    if type(value) is dict:
        value = [*value.keys(), *value.values()]
    if type(value) in (list, tuple, set, frozenset):
        return depth > 0 and all(_is_tellable(item, depth - 1) for item in value)
    if _is(value, (torch.Tensor, torch.nn.Module, *_FUNCTIONS)) or type(value).__name__ == "ndarray":
        return True
    return _is_plain(value) or getattr(type(value), "__repr__", None) in (object.__repr__, enum.Enum.__repr__)


def _same_plain(value: Any, now: Any) -> bool:
    if type(now) is not type(value):
        return False
    if type(value) is tuple:
        return len(now) == len(value) and all(map(_same_plain, value, now))
    if type(value) is frozenset:
        return _is_plain(now) and {(type(v), v) for v in now} == {(type(v), v) for v in value}
    return bool(now == value) or bool(now != now and value != value)  # NaN is itself


def _same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether they do the same, wherever they are written: a cell that is run again makes new ones."""
    if one is other:
        return True
    facts = ("co_code", "co_names", "co_varnames", "co_freevars")
    if any(getattr(one, fact) != getattr(other, fact) for fact in facts) or len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        _same_code(a, b) if type(a) is type(b) is types.CodeType else _same_plain(a, b)
        for a, b in zip(one.co_consts, other.co_consts, strict=True)
    )


def _outline(guard_type: str, value: Any) -> Any:
    if guard_type == "TYPE_MATCH":
        return type(value)
    if guard_type in ("SEQUENCE_LENGTH", "TUPLE_ITERATOR_LEN") and _is(value, (list, tuple, dict, set)):
        return len(value)
    if guard_type.startswith("DICT_") and _is(value, dict):
        return tuple(k if _is(k, _PLAIN) else id(k) for k in value)
    return None


def _expected_text(guard_type: str, value: Any) -> str:
    if guard_type == "TYPE_MATCH":
        return type(value).__name__
    if guard_type == "SEQUENCE_LENGTH" and _is(value, (list, tuple, dict, set)):
        return f"{len(value)} items"
    return describe(value).text


def _equal_arrays(a: Any, b: Any) -> bool:
    numpy = sys.modules.get("numpy")
    if numpy is None or not (_is(a, numpy.ndarray) and _is(b, numpy.ndarray)):
        return False
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
