"""The compiled program run once more: whether it wrote into what it burned in, and whether that shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .copies import kept_copy
from .describe import tensors_in, version_of
from .equality import difference
from .events import RawFold
from .record import Recorder

__all__ = ["Again", "run_again"]

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Again:
    """What a second call of the compiled program showed."""

    written: frozenset[int] = frozenset()
    """Positions of the folds whose result the first call wrote into."""
    difference: str | None = None
    """How the second call differs from the first one of eager, on the same inputs and state."""
    backward: str | None = None
    """What the backward pass of the second call raised, where that of the first did not."""
    made: bool = False
    """Whether there was a second call, and it ran the same compiled code."""


def run_again(
    recorder: Recorder, call: Callable[..., Any], output: Any, expected: Any, inputs: Callable[[], Inputs]
) -> Again:
    """Call the compiled program again if its folds gave something that calls can share.

    Args:
        recorder: what was recorded of the first call.
        call: the compiled program.
        output: what its first call returned.
        expected: what eager returned.
        inputs: makes a fresh copy of the arguments, and puts the program's state back.
    """
    shared = {i: raw for i, raw in enumerate(recorder.folds) if raw.marked and raw.error is None and _is_shared(raw)}
    if not shared:
        return Again()
    written = frozenset(i for i, raw in shared.items() if _is_written(raw))
    trains = any(tensor.grad_fn is not None for raw in shared.values() for tensor in tensors_in(raw.returned))
    try:
        first_raised = _backward(output) if trains else None
        given = inputs()
        with torch.compiler.set_stance("fail_on_recompile"):  # a new trace would fold anew, and hide what is shared
            second = call(*given)
        found = difference(expected, kept_copy(second))
        raised = _backward(second) if trains and not first_raised else None
    except Exception:  # it would be compiled anew: another program, of which nothing is known
        return Again(written)
    return Again(written, found, raised, made=True)


def _is_shared(raw: RawFold) -> bool:
    return bool(raw.tensors) or isinstance(raw.returned, (list, dict, set))


def _is_written(raw: RawFold) -> bool:
    if any(version != version_of(tensor) for tensor, version in zip(raw.tensors, raw.versions, strict=True)):
        return True
    return difference(raw.answer, raw.returned, exact=True) is not None


def _backward(output: Any) -> str | None:
    """The error of a backward pass from all that an output holds; None if there was none."""
    ends = [tensor for tensor in tensors_in(output) if tensor.requires_grad and tensor.grad_fn is not None]
    if not ends:
        return None
    try:
        torch.autograd.backward([tensor.sum() for tensor in ends])
    except RuntimeError as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return None
