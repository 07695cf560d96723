"""What happens while Dynamo traces: a frame, a fold, an inlined call, a guard."""

from __future__ import annotations

import inspect
import types
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from ..model import Argument, Guard, Location, Value
from .describe import code_name
from .graphs import source_line
from .seam import Site

__all__ = [
    "Frame", "GuardEntry", "InlinedCall", "RawFold", "code_location", "definition_of", "first_line",
    "split_reason",
]  # fmt: skip


@dataclass
class RawFold:
    """One attempt to fold a call, as it happened."""

    fn: Any
    site: Site
    arguments: tuple[Argument, ...] = ()
    result: Value | None = None
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """The arguments, tensors copied before the call; None if they cannot be (inside ``vmap``, say)."""
    modes: Any = None
    """Grad mode and autocast, as they were."""
    returned: Any = None
    """The result itself, in which the program may write."""
    answer: Any = None
    """The result as it was."""
    passed_on: int | None = None
    """The place of the argument that is the result, if one is."""
    error: BaseException | None = None
    target: str | None = None
    """The ``get_attr`` target that holds a tensor result."""
    parents: tuple[int, ...] = ()
    """For a constant Dynamo computed from others: the positions of those folds."""
    marked: bool = True
    tensors: tuple[Any, ...] = ()
    """The tensors and arrays in the result, themselves."""
    versions: tuple[int, ...] = ()
    """How often each of them had been written to when the function returned it."""
    fixed: bool = False
    """All tensors it was given are constants of the graph: made in it, of nothing that differs between calls."""
    leaves: bool = False
    """The graph returns the result, or a view of it."""
    consumers: list[torch.fx.Node] = field(default_factory=list)


@dataclass
class Frame:
    """One function that Dynamo tried to compile."""

    code: types.CodeType
    f_globals: dict[str, Any]
    f_locals: dict[str, Any]
    had_entries: bool
    attempts: list[Any] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    graphs: list[int] = field(default_factory=list)
    compiled: bool = False
    skip_reason: str = ""
    break_reason: str = ""
    unsupported: str = ""
    """The last construct in it that Dynamo could not trace."""
    error: BaseException | None = None

    @property
    def location(self) -> Location:
        return code_location(self.code)


@dataclass(frozen=True)
class InlinedCall:
    """A function whose body Dynamo traced, and the line that called it."""

    code: types.CodeType
    fn: Any
    owner: Any
    site: Location


@dataclass(frozen=True)
class GuardEntry:
    """A guard with the live value that it checked, and the frame it was made for."""

    guard: Guard
    value: Any
    has_value: bool
    frame: Frame | None
    attribute: str | None = None
    """The attribute whose presence or absence it is about."""

    @property
    def key(self) -> tuple[str, str, object]:
        """What it checks and where: a name means another thing in another module, or in another function."""
        source = self.guard.source
        place: object = None
        if self.frame is not None and "L[" in source:
            place = code_name(self.frame.code).removesuffix(" (resumed)")
        elif self.frame is not None and "G[" in source:
            place = id(self.frame.f_globals)
        return self.guard.type, source, place


def code_location(code: types.CodeType) -> Location:
    """Where the function of a code object is defined."""
    line = code.co_firstlineno
    return Location(code.co_filename, line, code_name(code), source_line(code.co_filename, line))


def definition_of(fn: Any) -> Location | None:
    """Where a function is defined; None for what has no Python code."""
    code = getattr(inspect.unwrap(fn) if callable(fn) else fn, "__code__", None)
    return None if code is None else code_location(code)


def split_reason(message: str) -> dict[str, str]:
    """Dynamo's message for an unsupported construct, in its parts."""
    lines = [line.strip() for line in message.splitlines()]
    explanation = [line.removeprefix("Explanation:").strip() for line in lines if line.startswith("Explanation:")]
    hints = [line.removeprefix("Hint:").strip() for line in lines if line.startswith("Hint:")]
    return {"reason": first_line(message), "explanation": " ".join(explanation), "hint": " ".join(hints)}


def first_line(message: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in str(message).splitlines() if line.strip()), "")
