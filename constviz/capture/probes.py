"""Asking a marked function again: with the same arguments, with other tensors, with other sizes."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..analysis.verdicts import Answers
from .assumptions import LiveAssumption
from .copies import copy_inputs, kept_copy
from .describe import describe, tensors_in
from .equality import difference
from .events import RawFold
from .modes import under
from .preserve import Snapshot, kept
from .variants import quiet

__all__ = ["probe", "with_other_values"]


def probe(raw: RawFold, state: Snapshot, assumptions: list[LiveAssumption]) -> Answers:
    """Call the function of a fold again, from the state in which it was folded; everything is put back."""
    if raw.given is None:
        return Answers()
    with kept(raw.fn, raw.given), quiet(), under(raw.modes):
        return _probe(raw, state, [a for a in assumptions if a.now().holds])


def _probe(raw: RawFold, state: Snapshot, assumptions: list[LiveAssumption]) -> Answers:
    found: dict[str, Any] = {"asked": True}
    state.restore()
    generators = _generators()
    given = _fresh(raw)
    try:
        first = _answer(raw.fn, given)
        found["draws"] = _generators() != generators
        found["writes"] = _written(raw, given, assumptions)
        second = _answer(raw.fn, _fresh(raw))
    except Exception as error:
        return Answers(**{**found, "failed": f"{type(error).__name__}: {error}"})
    first, second = kept_copy(first), kept_copy(second)
    found["repeat"] = difference(raw.answer, second, exact=True) or difference(first, second, exact=True)
    ambient = difference(raw.answer, first, exact=True)
    if ambient and not found["draws"] and difference(first, second, exact=True) is None:
        found["ambient"], found["repeat"] = ambient, None
    found["values"] = _counterexample(raw, state, _other_values) or _counterexample(raw, state, _opposite_values)
    found["sizes"] = _counterexample(raw, state, _other_size)
    return Answers(**found)


def _fresh(raw: RawFold) -> Any:
    args, kwargs = raw.given or ((), {})
    return copy_inputs(args, kwargs)


def _answer(fn: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    return fn(*given[0], **given[1])


def _counterexample(raw: RawFold, state: Snapshot, change: Callable[[torch.Tensor], torch.Tensor | None]) -> str | None:
    args, kwargs = raw.given or ((), {})
    for tensor in tensors_in([list(args), kwargs]):
        other = change(tensor)
        if other is None:
            continue
        state.restore()
        given = _replaced((args, kwargs), tensor, other)
        try:
            answer = _answer(raw.fn, given)
        except Exception:  # the function may rightly refuse what we made up
            continue
        found = difference(_as_plain(raw.answer), _as_plain(answer), exact=True)
        if found:
            return f"for {describe(other).text} in place of {describe(tensor).text}, {found}"
    return None


def _as_plain(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def with_other_values(given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """The same arguments with other values in every tensor that can have some."""
    for tensor in tensors_in([list(given[0]), given[1]]):
        other = _other_values(tensor)
        if other is not None:
            given = _replaced(given, tensor, other)
    return given


def _replaced(given: Any, old: torch.Tensor, new: torch.Tensor) -> Any:
    def swap(value: Any) -> Any:
        if value is old:
            return new
        if type(value) in (list, tuple):
            return type(value)(swap(v) for v in value)
        return {k: swap(v) for k, v in value.items()} if type(value) is dict else value

    return tuple(swap(list(given[0]))), swap(dict(given[1]))


def _other_values(tensor: torch.Tensor) -> torch.Tensor | None:
    with torch.no_grad():
        try:
            data = tensor.detach().clone()
            other = ~data if data.dtype is torch.bool else data * 2 + 1
            return other.to(data.dtype).requires_grad_(tensor.requires_grad)
        except (RuntimeError, NotImplementedError, TypeError):
            return None


def _opposite_values(tensor: torch.Tensor) -> torch.Tensor | None:
    """For a function that asks whether something is positive."""
    if tensor.dtype is torch.bool or not tensor.numel():
        return None
    with torch.no_grad():
        try:
            return (-tensor.detach().clone() - 1).to(tensor.dtype).requires_grad_(tensor.requires_grad)
        except (RuntimeError, NotImplementedError, TypeError):
            return None


def _other_size(tensor: torch.Tensor) -> torch.Tensor | None:
    if tensor.dim() == 0 or tensor.numel() == 0 or type(tensor) is not torch.Tensor:
        return None
    with torch.no_grad():
        try:
            data = tensor.detach()
            return torch.cat([data, data[:1]]).requires_grad_(tensor.requires_grad)
        except (RuntimeError, NotImplementedError):
            return None


def _written(raw: RawFold, given: Any, assumptions: list[LiveAssumption]) -> str | None:
    args = raw.given[0] if raw.given else ()
    for before, after in zip(tensors_in(list(args)), tensors_in(list(given[0])), strict=False):
        if difference(before, after, exact=True):
            return f"a tensor argument ({difference(before, after, exact=True)})"
    changed = []
    for assumption in assumptions:
        now = assumption.now()
        if now.holds is False:
            assumption.changes_itself = True
            changed.append(f"{now.expression} ({now.expected} became {now.current})")
    return changed[0] if changed else None


def _generators() -> tuple[Any, ...]:
    numpy = sys.modules.get("numpy")
    arrays = numpy.random.get_state()[1].tobytes() + bytes([numpy.random.get_state()[2] % 256]) if numpy else b""
    return random.getstate(), arrays, torch.get_rng_state().numpy().tobytes()
