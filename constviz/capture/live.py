"""A captured function that may still be running: are its assumptions still true?"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import torch

from ..model import Assumption
from .assumptions import LiveAssumption, scope_of
from .readings import Expectation, Scope, UnreadableError, read
from .record import Recorder
from .seam import has_cache_entries

__all__ = ["LiveCapture"]

_STATE_GUARDS = ("CONSTANT_MATCH", "EQUALS_MATCH", "SEQUENCE_LENGTH", "DICT_KEYS_MATCH", "ID_MATCH")


class LiveCapture:
    """The assumptions of one captured function, to be read again at any time without running the user's code."""

    def __init__(self, function: str, target: Any, assumptions: Sequence[LiveAssumption], after: Recorder) -> None:
        self.function = function
        self.target = target
        self.assumptions = tuple(assumptions)
        self._kept = [
            (entry.guard.source, scope_of(entry.frame, target), Expectation(entry.guard.type, entry.value))
            for entry in after.guard_entries
            if entry.has_value and entry.guard.type in _STATE_GUARDS and not isinstance(entry.value, torch.Tensor)
        ]
        self._was_compiled = self._is_compiled()

    def read(self) -> tuple[Assumption, ...]:
        """Every assumption with its value now."""
        return tuple(assumption.now() for assumption in self.assumptions)

    def stale(self) -> tuple[Assumption, ...]:
        """The assumptions that no longer hold, if the compiled program would go on with its old values.

        Empty after ``torch.compiler.reset()``, and when a guard that the program kept has failed as well: then it
        will be compiled anew at its next call.
        """
        broken = tuple(a for a in self.read() if a.holds is False)
        return broken if broken and self._would_run_as_it_is() else ()

    def _would_run_as_it_is(self) -> bool:
        compiled = self._is_compiled()
        self._was_compiled = self._was_compiled or compiled
        if self._was_compiled and not compiled:
            return False
        return all(_passes(source, scope, expected) for source, scope, expected in self._kept)

    def _is_compiled(self) -> bool:
        function = self.target.forward if isinstance(self.target, torch.nn.Module) else self.target
        code = getattr(function, "__code__", None)
        return isinstance(code, types.CodeType) and has_cache_entries(code)


def _passes(source: str, scope: Scope, expected: Expectation) -> bool:
    try:
        return expected.holds(read(source, scope))
    except UnreadableError:
        return True  # not known to fail
