"""Python values as :class:`~constviz.model.Value`: one line of text that is the same in every run."""

from __future__ import annotations

import dataclasses
import re
import types
from typing import Any

import torch

from ..model import Dim, Value

__all__ = [
    "brief",
    "called_function",
    "code_name",
    "describe",
    "dims",
    "dtype_name",
    "function_name",
    "shape_of",
    "storage_bytes",
    "tensors_in",
    "version_of",
]

_WIDTH = 80
_ITEMS = 6
_DEPTH = 4
_ADDRESS = re.compile(r" (?:object )?at 0x[0-9A-Fa-f]+")


def describe(value: Any) -> Value:
    """Describe any value.  Never raises and never runs a tensor operation on a traced (fake) tensor."""
    tensors = tensors_in(value)
    nbytes = storage_bytes(tensors)
    if isinstance(value, torch.Tensor):
        return Value(
            text=_shorten(_tensor_text(value)),
            type=type(value).__name__,
            shape=shape_of(value),
            dtype=dtype_name(value.dtype),
            device=str(value.device),
            nbytes=nbytes,
        )
    return Value(text=_shorten(_text(value, 0)), type=type(value).__name__, nbytes=nbytes)


def brief(value: Any) -> str:
    """The text of :func:`describe`, without looking for tensors inside."""
    return _shorten(_text(value, 0))


def dims(shape: Any) -> tuple[Dim, ...]:
    """A shape or stride with its symbols as text."""
    return tuple(d if type(d) is int else str(d) for d in shape)


def shape_of(tensor: torch.Tensor) -> tuple[Dim, ...]:
    """The shape of a tensor; ``*`` for a dimension along which the parts of a nested one differ."""
    return dims(tensor.shape if not _is_ragged(tensor) else (_size(tensor, k) for k in range(tensor.dim())))


def _is_ragged(tensor: torch.Tensor) -> bool:
    return tensor.is_nested and tensor.layout is torch.strided


def _size(tensor: torch.Tensor, dim: int) -> Dim:
    try:
        return tensor.size(dim)
    except RuntimeError:
        return "*"


def dtype_name(dtype: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def function_name(fn: Any) -> str:
    """The name a reader knows a callable by: ``Layer.scale`` for a method, without ``<locals>``."""
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__qualname__
    return str(name).rsplit("<locals>.", 1)[-1]


def called_function(target: Any) -> Any:
    """The function that runs when a module is called, by its own name; else the callable itself."""
    return target.forward if isinstance(target, torch.nn.Module) else target


def code_name(code: types.CodeType) -> str:
    """``Layer.forward``; for what Dynamo resumes after a graph break, ``forward (resumed)``."""
    name = getattr(code, "co_qualname", code.co_name).rsplit("<locals>.", 1)[-1]
    if name.startswith(("torch_dynamo_resume_in_", "__resume_at_")):
        original = name.removeprefix("torch_dynamo_resume_in_").rsplit("_at_", 1)[0]
        return f"{original} (resumed)"
    return name


def tensors_in(value: Any, depth: int = 0) -> list[torch.Tensor]:
    """The tensors in a value, containers and dataclasses included, to a fixed depth."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth > _DEPTH:
        return []
    items: Any = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        items = value
    elif isinstance(value, torch.nn.Module):
        items = [*value.parameters(), *value.buffers()]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    return [tensor for item in list(items) for tensor in tensors_in(item, depth + 1)]


def version_of(value: Any) -> int:
    """How often a tensor has been written to; 0 for what does not count it."""
    return value._version if isinstance(value, torch.Tensor) and not value.is_inference() else 0


def storage_bytes(tensors: list[torch.Tensor]) -> int:
    """Bytes of the distinct storages behind the tensors."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        try:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr() or id(tensor)] = storage.nbytes()
        except (RuntimeError, NotImplementedError):  # sparse, functorch-wrapped and other storage-less tensors
            sizes[id(tensor)] = _numel(tensor) * tensor.element_size()
    return sum(sizes.values())


def _numel(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.numel())
    except Exception:  # symbolic sizes
        return 0


def _tensor_text(tensor: torch.Tensor) -> str:
    brief = f"{dtype_name(tensor.dtype)}[{', '.join(map(str, shape_of(tensor)))}]"
    kind = "" if type(tensor) in (torch.Tensor, torch.nn.Parameter) else f"{type(tensor).__name__} "
    if _is_ragged(tensor):
        return f"nested {brief}"
    if not 0 < _numel(tensor) <= _ITEMS or tensor.device.type in ("meta",):
        return kind + brief
    try:
        with torch.no_grad():
            items = tensor.detach().as_subclass(torch.Tensor).tolist()
    except Exception:  # fake, functorch-wrapped, sparse: no plain values to show
        return kind + brief
    return f"{kind}{_rounded(items)} ({brief})"


def _rounded(items: Any) -> str:
    if isinstance(items, list):
        return f"[{', '.join(map(_rounded, items))}]"
    return f"{items:.6g}" if isinstance(items, float) else str(items)


def _text(value: Any, depth: int) -> str:
    if isinstance(value, torch.Tensor):
        return _tensor_text(value)
    if isinstance(value, torch.nn.Module):
        return f"{type(value).__name__} module"
    if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return f"function {function_name(value)}"
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, type):
        return f"class {value.__qualname__}"
    if depth < _DEPTH and type(value) in (list, tuple, set, frozenset, dict):
        return _container_text(value, depth)
    if dataclasses.is_dataclass(value) and "__repr__" in type(value).__dict__ and depth < _DEPTH:
        pairs = ((f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value) if f.repr)
        return f"{type(value).__name__}({', '.join(f'{k}={_text(v, depth + 1)}' for k, v in pairs)})"
    if getattr(type(value), "__repr__", None) is object.__repr__:
        return f"{type(value).__qualname__.rsplit('<locals>.', 1)[-1]} object"
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception as error:  # a user's broken __repr__ must not break the report
        return f"{type(value).__name__} object (repr raised {type(error).__name__})"


def _container_text(value: Any, depth: int) -> str:
    more = ", ..." if len(value) > _ITEMS else ""
    if isinstance(value, dict):
        pairs = list(value.items())[:_ITEMS]
        return "{" + ", ".join(f"{_text(k, depth + 1)}: {_text(v, depth + 1)}" for k, v in pairs) + more + "}"
    if isinstance(value, (set, frozenset)):
        texts = sorted(_text(v, depth + 1) for v in value)[:_ITEMS]  # sets have no order of their own
        return "{" + ", ".join(texts) + more + "}" if texts else f"{type(value).__name__}()"
    texts = [_text(v, depth + 1) for v in value[:_ITEMS]]
    if isinstance(value, tuple):
        return "(" + ", ".join(texts) + more + ("," if len(value) == 1 else "") + ")"
    return "[" + ", ".join(texts) + more + "]"


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 4] + " ..."
