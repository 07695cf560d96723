"""Which inputs a program is timed on: its own, or a sweep over sizes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from .auditing import Program
from .capture.describe import tensors_in

__all__ = ["Sizes", "programs_of"]

Sizes = Iterable[int] | Iterable[tuple[Any, ...]]


def programs_of(program: Program, sizes: Sizes | None) -> dict[str, Program]:
    """The program with each set of inputs, by a name for it; by an empty name if there are only its own.

    Args:
        sizes: arguments, a tuple for each set; or lengths, to which the first dimension of the tensors is brought by
            repeating or cutting them: of all whose first dimension is as long as that of the first.

    Raises:
        TypeError: neither a number nor a tuple.
        ValueError: none at all, a length below 1, or no tensor to bring to a length.
    """
    if sizes is None:
        return {"": program}
    if not isinstance(sizes, Iterable) or isinstance(sizes, (str, torch.Tensor)):
        raise TypeError(f"sizes must hold lengths, or tuples of arguments, not be {type(sizes).__name__}: sizes=[64]")
    found: dict[str, Program] = {}
    for size in sizes:
        if hasattr(size, "__index__") and not isinstance(size, (bool, torch.Tensor)):
            name, args, kwargs = f"n={size}", *_brought_to(operator.index(size), program)
        elif isinstance(size, (tuple, list)):
            name, args, kwargs = _shapes(size), tuple(size), {}
        else:
            kind = type(size).__name__
            raise TypeError(f"sizes must hold lengths, or a tuple of arguments for each call, not {kind}")
        number, unique = 2, name
        while unique in found:
            unique, number = f"{name} ({number})", number + 1
        found[unique] = replace(program, args=args, kwargs=kwargs)
    if not found:
        raise ValueError("sizes is empty: there is nothing to time")
    return found


def _brought_to(length: int, program: Program) -> tuple[tuple[Any, ...], dict[str, Any]]:
    tensors = [tensor for tensor in tensors_in([list(program.args), program.kwargs]) if tensor.dim()]
    if length < 1:
        raise ValueError(f"a length must be at least 1, not {length}")
    if not tensors:
        raise ValueError("there is no tensor among the arguments whose length could change; pass argument tuples")
    old = len(tensors[0])
    args = tuple(_resized(value, old, length) for value in program.args)
    return args, {name: _resized(value, old, length) for name, value in program.kwargs.items()}


def _resized(value: Any, old: int, new: int) -> Any:
    if isinstance(value, torch.Tensor):
        if not value.dim() or len(value) != old or not old:
            return value
        whole = value.detach()[torch.arange(new, device=value.device) % old]
        return whole.requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(_resized(item, old, new) for item in value)
    if type(value) is dict:
        return {key: _resized(item, old, new) for key, item in value.items()}
    return value


def _shapes(args: Iterable[Any]) -> str:
    parts = ["×".join(map(str, tensor.shape)) or "scalar" for tensor in tensors_in(list(args))]
    return ", ".join(parts) or "no tensor"
