"""audit(): the variants against eager over several calls, each compiled once and then kept, as a user's program is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .capture.copies import copy_inputs, kept_copy
from .capture.describe import describe, tensors_in
from .capture.equality import difference, not_compared
from .capture.memory import NotComparableError, pairs
from .capture.preserve import kept
from .capture.probes import with_other_values
from .capture.seam import CompileOptions
from .capture.variants import compiled_beside, run_eager

__all__ = ["Program", "max_abs_error"]

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Row = tuple[str, str, bool, float | None, str]


@dataclass(frozen=True)
class Program:
    """What a report was made of, to be called again: the function, copies of its inputs, options and marks."""

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: CompileOptions
    honoured: Callable[[Any], bool]
    modes: Any = None
    """Grad mode and autocast, as the report was made under them."""
    probe: bool = True
    """False if folded functions must not be called again."""

    def audit(
        self, calls: Iterable[tuple[Any, ...]] | None, repeats: int, change: Callable[[], object] | None
    ) -> Iterator[Row]:
        """One row a call and variant.  The program's state is put back after each variant."""
        steps = self._steps(calls, repeats, change)
        marks: dict[str, Callable[[Any], bool]] = {"before": lambda fn: False, "after": self.honoured}
        for variant, honoured in marks.items():
            with kept(self.target, self.args, self.kwargs, change):
                yield from self._run(variant, honoured, steps, change)

    def _steps(
        self, calls: Iterable[tuple[Any, ...]] | None, repeats: int, change: Callable[[], object] | None
    ) -> list[tuple[str, Inputs]]:
        further = [] if calls is None else list(calls)
        if wrong := next((type(args).__name__ for args in further if not isinstance(args, (tuple, list))), None):
            raise TypeError(f"calls must hold a tuple of arguments for each call, not {wrong}; write calls=[(x,)]")
        own = (self.args, self.kwargs)
        steps = [(f"same inputs, {i + 1}" if i else "first call", own) for i in range(max(repeats, 1))]
        if calls is not None:
            steps += [(f"calls[{i}]", (tuple(args), {})) for i, args in enumerate(further)]
        elif change is None and tensors_in([list(self.args), self.kwargs]):
            steps.append(("other values", with_other_values(own)))
        return steps

    def _run(
        self,
        variant: str,
        honoured: Callable[[Any], bool],
        steps: list[tuple[str, Inputs]],
        change: Callable[[], object] | None,
    ) -> Iterator[Row]:
        shown = False
        with compiled_beside(self.target, self.options, honoured) as (_, call):
            for position, (name, inputs) in enumerate(steps):
                if position == 1 and change is not None:
                    change()
                label = f"{name}, after the change" if position and change is not None else name
                equal, error, note = self._one(call, inputs)
                yield label, variant, equal, error, "" if shown and not equal else note
                shown = shown or not equal

    def _one(self, call: Callable[..., Any], inputs: Inputs) -> tuple[bool, float | None, str]:
        with kept(self.target, inputs):
            eager_inputs = copy_inputs(*inputs)
            try:
                expected = run_eager(self.target, *eager_inputs).output
            except Exception as error:
                return False, None, f"eager raised {type(error).__name__}: {error}"
        own_inputs = copy_inputs(*inputs)
        try:
            actual = kept_copy(call(*own_inputs))
        except Exception as error:
            return False, None, f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        found = difference(expected, actual)
        if found is None and (written := difference(list(eager_inputs[0]), list(own_inputs[0]))):
            return False, None, f"wrote another value into an input: {written}"
        unsaid = None if found else not_compared(expected, actual)
        note = f"expected {describe(expected).text}, got {describe(actual).text}" if found else ""
        note = f"not compared: {unsaid}" if unsaid else note
        return found is None, max_abs_error(expected, actual), note


def _pairs(one: torch.Tensor, other: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    try:
        return list(pairs(one, other))
    except (NotComparableError, RuntimeError, NotImplementedError):
        return []


def max_abs_error(expected: Any, actual: Any) -> float | None:
    """The largest difference between two numbers of the results; None if they cannot be subtracted."""
    errors = []
    found = zip(tensors_in(expected), tensors_in(actual), strict=False)
    for a, b in (pair for one, other in found for pair in _pairs(one, other)):
        if (
            a.shape == b.shape
            and not a.is_complex()
            and a.numel()
            and a.layout is torch.strided
            and a.device.type != "meta"
        ):
            same = (a == b) | (a.isnan() & b.isnan())  # infinity less infinity is no number
            errors.append((a.double() - b.double()).abs().masked_fill(same, 0).max().item())
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        errors.append(abs(expected - actual))
    return max(errors, default=None)
