"""Tensors copied and put back: each variant works on inputs of its own, so what one writes in place no other sees."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from typing import Any

import torch

from .describe import tensors_in
from .memory import copied, memory, repeats

__all__ = ["InputTooLargeError", "copy_inputs", "kept_copy", "own_tensors", "put_back", "same_bits"]


class InputTooLargeError(MemoryError):
    """An input does not fit into memory a second time; pass a smaller one, or one on another device."""


def copy_inputs(
    args: tuple[Any, ...], kwargs: dict[str, Any], shared: Iterable[torch.Tensor] = ()
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies of the tensors in ``args`` and ``kwargs``; containers are rebuilt, other objects are passed as they are.

    Strides, offsets, views of one storage and the same tensor twice stay what they were.  A tensor that is (a view
    of) one in ``shared``, the program's own state, is passed itself: to copy it would cut that tie.

    Raises:
        InputTooLargeError: there is no memory for a copy.  The message names the input.
    """
    copier = _Copier(shared)
    new_args = tuple(copier.copy(value, f"args[{i}]") for i, value in enumerate(args))
    return new_args, {name: copier.copy(value, name) for name, value in kwargs.items()}


def own_tensors(found: Iterable[torch.Tensor], args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors of the program itself: what was found, less the inputs."""
    inputs = {id(tensor) for tensor in tensors_in([list(args), kwargs])}
    return [tensor for tensor in found if id(tensor) not in inputs]


class _Copier:
    def __init__(self, shared: Iterable[torch.Tensor]) -> None:
        self.shared = {key for key in map(_storage_key, shared) if key is not None}
        self.storages: dict[Any, torch.UntypedStorage] = {}
        self.done: dict[int, tuple[Any, Any]] = {}

    def copy(self, value: Any, name: str) -> Any:
        if id(value) in self.done:
            return self.done[id(value)][1]
        new = value
        if isinstance(value, torch.Tensor):
            new = self.tensor(value, name)
        elif type(value) is list:
            new = []
            self.done[id(value)] = (value, new)  # first: it may hold itself
            new.extend(self.copy(v, f"{name}[{i}]") for i, v in enumerate(value))
        elif type(value) in (tuple, set):
            new = type(value)(self.copy(v, f"{name}[{i}]") for i, v in enumerate(value))
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            new = type(value)(*(self.copy(v, f"{name}.{f}") for f, v in zip(value._fields, value, strict=False)))
        elif isinstance(value, dict):
            new = copy.copy(value)
            self.done[id(value)] = (value, new)
            for key, item in value.items():
                new[key] = self.copy(item, f"{name}[{key!r}]")
        self.done[id(value)] = (value, new)
        return new

    def tensor(self, value: torch.Tensor, name: str) -> torch.Tensor:
        key = _storage_key(value)
        if key is not None and key in self.shared:
            return value
        _check_room(value, name)
        try:
            new = self.plain(value, key) if type(value) in (torch.Tensor, torch.nn.Parameter) else copy.deepcopy(value)
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise InputTooLargeError(_too_large(value, name)) from error
        except (RuntimeError, NotImplementedError):  # a subclass that cannot be copied
            return value
        for attribute, content in value.__dict__.items():  # mark_dynamic leaves its orders here
            setattr(new, attribute, content)
        return new

    def plain(self, value: torch.Tensor, key: Any) -> torch.Tensor:
        if key is None or value.layout is not torch.strided or value.is_quantized or value.is_nested:
            new = value.detach().clone()
        else:
            if key not in self.storages:
                self.storages[key] = value.untyped_storage().clone()  # type: ignore[no-untyped-call]
            new = torch.empty(0, dtype=value.dtype, device=value.device)
            new.set_(self.storages[key], value.storage_offset(), value.size(), value.stride())
        if isinstance(value, torch.nn.Parameter):
            return torch.nn.Parameter(new, requires_grad=value.requires_grad)
        return new.requires_grad_(value.requires_grad)


def _storage_key(tensor: torch.Tensor) -> Any:
    try:
        pointer = tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return None
    return (tensor.device, pointer) if pointer else None


def _check_room(tensor: torch.Tensor, name: str) -> None:
    # Linux grants memory it does not have and ends the process later: ask first
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return
    try:
        room = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return
    if tensor.untyped_storage().nbytes() > max(room, 0):
        raise InputTooLargeError(_too_large(tensor, name))


def _too_large(tensor: torch.Tensor, name: str) -> str:
    gib = tensor.untyped_storage().nbytes() / 2**30
    return f"input {name}, {tuple(tensor.shape)} on {tensor.device}, {gib:.1f} GiB, is too large to copy"


def put_back(tensor: torch.Tensor, content: torch.Tensor) -> None:
    """Give a tensor its old content, if that has changed."""
    with torch.no_grad():
        data = tensor.detach()
        if not data.is_nested and data.shape != content.shape:  # resized or re-pointed: give it its old data
            tensor.data = copied(content)
        elif repeats(data) and repeats(content):
            put_back(memory(data), memory(content))
        elif not same_bits(data, content):
            tensor.data.copy_(content)  # .data: autograd's version counter is not told


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one shape hold the same."""
    if a.dtype != b.dtype or a.device.type == "meta":
        return a.dtype == b.dtype
    try:
        return bool(torch.equal(a, b)) or bool(((a == b) | ((a != a) & (b != b))).all())
    except Exception:  # nested, sparse and other tensors that cannot be compared: write back in any case
        return False


def kept_copy(value: Any, depth: int = 0) -> Any:
    """A copy to keep: no autograd history, and not changed when state is put back."""
    if isinstance(value, torch.Tensor):
        try:
            return copied(value)
        except (RuntimeError, NotImplementedError):
            return value
    if depth > 4:
        return value
    if type(value).__name__ == "ndarray":
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(kept_copy(v, depth + 1) for v in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(kept_copy(v, depth + 1) for v in value))
    if type(value) is dict:
        return {k: kept_copy(v, depth + 1) for k, v in value.items()}
    return value
