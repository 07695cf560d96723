"""A captured function that may still be running: are its assumptions still true?"""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ..model import Assumption
from .assumptions import LiveAssumption, scope_of
from .programs import KeptGuard, Program, Programs
from .readings import Expectation
from .record import Recorder
from .weakly import weak_scope, weak_target

__all__ = [
    "LISTENERS", "LiveCapture", "WatchedCapture", "captured_codes", "comparing", "function_behind", "is_comparing",
    "is_same_target", "living",
]  # fmt: skip

_STATE_GUARDS = ("CONSTANT_MATCH", "EQUALS_MATCH", "SEQUENCE_LENGTH", "DICT_KEYS_MATCH", "ID_MATCH")

LISTENERS: list[Callable[[LiveCapture], None]] = []
"""Told of each new capture; empty unless something watches."""

_living: weakref.WeakSet[LiveCapture] = weakref.WeakSet()
_watched: weakref.WeakSet[WatchedCapture] = weakref.WeakSet()
_numbers = itertools.count()
_comparing = 0


class LiveCapture:
    """The assumptions of one captured function, to be read again at any time without running the user's code."""

    def __init__(self, function: str, target: Any, assumptions: Sequence[LiveAssumption], after: Recorder) -> None:
        self.function = function
        self.target = target
        self.assumptions = tuple(assumptions)
        kept = tuple(
            KeptGuard(entry.guard.source, scope_of(entry.frame, target), Expectation(entry.guard.type, entry.value))
            for entry in after.guard_entries
            if entry.has_value and entry.guard.type in _STATE_GUARDS and not isinstance(entry.value, torch.Tensor)
        )
        self.codes = _codes(target, after)
        """What is compiled for it, each with its globals: itself, and what it calls after a graph break."""
        self.programs = Programs(self.codes, Program(kept, self.assumptions))
        self.number = next(_numbers)
        """Captures are numbered as they are made."""
        _living.add(self)
        for listener in LISTENERS:
            listener(self)

    def read(self) -> tuple[Assumption, ...]:
        """Every assumption with its value now."""
        return tuple(assumption.now() for assumption in self.assumptions)

    def stale(self) -> tuple[Assumption, ...]:
        """The assumptions that no longer hold, if compiled code would go on with their old values.

        Empty if nothing is compiled, after ``torch.compiler.reset()``, and when a guard that the program kept has
        failed as well: then it will be compiled anew at its next call.
        """
        self.programs.look()
        return tuple(assumption for assumption, would_run in self.programs.broken() if would_run)


class WatchedCapture:
    """What a watch holds of a capture: all that is read again, but neither the function nor its inputs."""

    def __init__(self, live: LiveCapture, others: Sequence[WatchedCapture]) -> None:
        self.function = live.function
        self._target = weak_target(live.target, self._release)
        same = (other.programs for other in others if is_same_target(other.target, live.target))
        self.programs: Programs = live.programs.twin(_held_weakly, same)
        self.codes = live.codes
        _watched.add(self)

    @property
    def target(self) -> Any:
        """The captured function; None when it is gone."""
        return self._target()

    def _release(self) -> None:
        self.programs.clear()


def living() -> list[LiveCapture]:
    """The captures whose report still exists, in no order."""
    return list(_living)


def captured_codes(target: Any) -> list[tuple[types.CodeType, dict[str, Any]]]:
    """The code, with its globals, that was seen to be compiled when this target was captured."""
    captures: list[LiveCapture | WatchedCapture] = [*_living, *_watched]
    return [found for capture in captures if is_same_target(capture.target, target) for found in capture.codes]


@contextlib.contextmanager
def comparing() -> Iterator[None]:
    """While a comparison runs, the program's state is not its present one: nothing read then counts."""
    global _comparing
    _comparing += 1
    try:
        yield
    finally:
        _comparing -= 1


def is_comparing() -> bool:
    """Whether a comparison runs."""
    return _comparing > 0


def function_behind(target: Any) -> types.FunctionType | None:
    """The Python function that runs when the target is called."""
    if isinstance(target, torch.nn.Module):
        target = target.forward
    elif not isinstance(target, (types.FunctionType, types.MethodType)):
        target = inspect.getattr_static(type(target), "__call__", None)
    function = getattr(target, "__func__", target)
    return function if isinstance(function, types.FunctionType) else None


def is_same_target(one: Any, other: Any) -> bool:
    """Whether these are one function, or one method of one object."""
    if isinstance(one, types.MethodType) and isinstance(other, types.MethodType):
        return one.__self__ is other.__self__ and one.__func__ is other.__func__
    return one is not None and one is other


def _codes(target: Any, after: Recorder) -> tuple[tuple[types.CodeType, dict[str, Any]], ...]:
    function = function_behind(target)
    own = [(function.__code__, function.__globals__)] if function is not None else []
    found = [(frame.code, frame.f_globals) for frame in after.frames if frame.compiled]
    return tuple({id(code): (code, namespace) for code, namespace in (*own, *found)}.values())


def _held_weakly(program: Program) -> Program:
    kept = (KeptGuard(guard.source, weak_scope(guard.scope, guard.source), guard.expected) for guard in program.kept)
    assumed = []
    for assumption in program.assumed:
        twin = copy.copy(assumption)
        twin.scope = weak_scope(assumption.scope, assumption.source)
        assumed.append(twin)
    return Program(tuple(kept), tuple(assumed))
