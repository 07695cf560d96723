"""Asking a marked function again: with the same arguments, with other tensors, with other sizes."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import torch

from ..analysis.verdicts import Answers
from .assumptions import LiveAssumption
from .copies import copy_inputs, kept_copy
from .describe import describe, tensors_in
from .equality import difference
from .events import RawFold
from .memory import like, memory, repeats
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
    if not raw.fixed:
        found["values"] = _counterexample(raw, state, _other_values)
        found["sizes"] = _counterexample(raw, state, _other_sizes)
    return Answers(**found)


def _fresh(raw: RawFold) -> Any:
    args, kwargs = raw.given or ((), {})
    return copy_inputs(args, kwargs)


def _answer(fn: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    return fn(*given[0], **given[1])


def _counterexample(
    raw: RawFold, state: Snapshot, change: Callable[[torch.Tensor], Iterable[torch.Tensor]]
) -> str | None:
    args, kwargs = raw.given or ((), {})
    for tensor, other in [(t, other) for t in tensors_in([list(args), kwargs]) for other in change(t)]:
        state.restore()
        given = _replaced((args, kwargs), tensor, other)
        try:
            answer = _answer(raw.fn, given)
        except Exception:  # the function may rightly refuse what we made up
            continue
        flat = (*given[0], *given[1].values())
        if raw.passed_on is not None and answer is flat[raw.passed_on]:
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
        for other in itertools.islice(_other_values(tensor), 1):
            given = _replaced(given, tensor, other)
    return given


def _replaced(given: Any, old: torch.Tensor, new: torch.Tensor) -> Any:
    """The arguments with one tensor exchanged, wherever :func:`tensors_in` finds it."""

    def swap(value: Any) -> Any:
        if value is old:
            return new
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(swap(v) for v in value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(swap, value))
        if isinstance(value, dict):
            twin = copy.copy(value)
            twin.update((k, swap(v)) for k, v in value.items())
            return twin
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            twin = copy.copy(cast(Any, value))
            for field in dataclasses.fields(value):
                object.__setattr__(twin, field.name, swap(getattr(value, field.name, None)))
            return twin
        return value

    return tuple(swap(list(given[0]))), swap(dict(given[1]))


def _other_values(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Larger ones, and some of the other sign: a function may ask whether something is positive."""
    with torch.no_grad():
        try:
            whole = repeats(tensor)
            data = memory(tensor).clone() if whole else tensor.detach().clone()
            if data.dtype is torch.bool:
                others = [~data]
            else:
                others = [data * 2 + 1, -data - 1] if data.numel() else []
            for other in others:
                other = like(tensor, other.to(data.dtype)) if whole else other.to(data.dtype)
                yield other.requires_grad_(tensor.requires_grad)
        except (RuntimeError, NotImplementedError, TypeError):
            return


_MANY = 1 << 20
"""Elements up to which a tensor is made larger many times over."""


def _other_sizes(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """One more along each dimension, many times as many along the first, and the same with other strides."""
    if tensor.dim() == 0 or tensor.numel() == 0 or type(tensor) is not torch.Tensor or tensor.is_nested:
        return
    if tensor.numel() > _MANY and repeats(tensor):  # a longer one would really take all that room
        return
    with torch.no_grad():
        try:
            data = tensor.detach()
            others = [torch.cat([data, data.narrow(dim, 0, 1)], dim) for dim in range(data.dim())]
            others += [torch.cat([data] * 64)] if data.numel() * 64 <= _MANY else []
            others += [data.mT.contiguous().mT] if data.dim() > 1 else []
            for other in others:
                yield other.requires_grad_(tensor.requires_grad)
        except (RuntimeError, NotImplementedError):
            return


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
