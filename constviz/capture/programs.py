"""Which compiled programs of a function are alive, and what each of them took for granted."""

from __future__ import annotations

import copy
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..model import Assumption
from .assumptions import LiveAssumption
from .readings import Expectation, Scope, UnreadableError, read
from .seam import compiled_code_runs, entries, with_resumed

__all__ = ["KeptGuard", "Program", "Programs"]


@dataclass(frozen=True)
class KeptGuard:
    """A value that the compiled program does check: if it differs, the program will not run as it is."""

    source: str
    scope: Scope
    expected: Expectation

    def passes(self) -> bool:
        try:
            return self.expected.holds(read(self.source, self.scope))
        except UnreadableError:
            return True  # not known to fail


@dataclass(frozen=True)
class Program:
    """What one piece of compiled code checks, and what it takes for granted."""

    kept: tuple[KeptGuard, ...]
    assumed: tuple[LiveAssumption, ...]

    def broken(self) -> Iterator[Assumption]:
        """The assumptions that no longer hold, but for what the marked function changes itself."""
        for assumption in self.assumed:
            if not assumption.changes_itself:
                now = assumption.now()
                if now.holds is False:
                    yield now

    def passes(self) -> bool:
        """Whether it would run as it is, as far as that is known."""
        return all(guard.passes() for guard in self.kept)

    def compiled_now(self) -> Program:
        """What a program would take for granted that is compiled at this moment."""
        kept = [KeptGuard(g.source, g.scope, e) for g in self.kept if (e := _seen_now(g)) is not None]
        assumed = []
        for assumption in self.assumed:
            expected = _seen_now(assumption)
            if expected is not None:
                fresh = copy.copy(assumption)
                fresh.expected = expected
                assumed.append(fresh)
        return Program(tuple(kept), tuple(assumed))


class Programs:
    """The programs compiled for one captured function, each known by its cache entry.

    An entry that was there when the function was captured is taken to rest on what the capture saw, a later one on
    what was read when Dynamo last began to compile.
    """

    def __init__(self, codes: Sequence[tuple[types.CodeType, dict[str, Any]]], seen: Program) -> None:
        self._codes = codes
        self._seen = seen
        self._nothing = Program((), ())  # made here: it is needed while Python shuts down
        self._at_compile: Program | None = None
        self._programs: list[tuple[weakref.ref[types.CodeType], Program | None]] = []
        self._ever = False
        self.look()

    def twin(self, change: Callable[[Program], Program], earlier: Iterable[Programs]) -> Programs:
        """The same with each program changed.  An entry that one of ``earlier`` knows is left to that one."""
        self.look()
        theirs = [entry for other in earlier for ref, _ in other._programs if (entry := ref()) is not None]
        twin = Programs((), change(self._seen))
        twin._codes, twin._ever = self._codes, self._ever
        for ref, program in self._programs:
            mine = program is not None and not any(ref() is entry for entry in theirs)
            twin._programs.append((ref, change(program) if mine and program is not None else None))
        return twin

    def look(self, *, missed: bool = False) -> None:
        """Take note of entries that came and went.  ``missed``: some may have been compiled unseen."""
        present = [entry for code in with_resumed(self._codes) for entry in entries(code)]
        self._programs = [found for found in self._programs if any(found[0]() is entry for entry in present)]
        new = [entry for entry in present if not self._has(entry)]
        if new:
            basis = None if missed else self._at_compile
            basis = basis or (self._seen.compiled_now() if self._ever else self._seen)
            self._programs += [(weakref.ref(entry), basis) for entry in new]
            self._ever = True
        self._at_compile = None

    def clear(self) -> None:
        """Forget all: the function is gone."""
        self._codes, self._programs, self._at_compile = (), [], None
        self._seen = self._nothing

    def about_to_compile(self) -> None:
        """Dynamo begins to compile something, perhaps this."""
        self.look()
        self._at_compile = self._seen.compiled_now()

    def broken(self) -> list[tuple[Assumption, bool]]:
        """Each broken assumption of a living program, and whether that program would run as it is."""
        runs = compiled_code_runs()
        found: dict[tuple[str, str, str], tuple[Assumption, bool]] = {}
        for program in {id(program): program for _, program in self._programs if program is not None}.values():
            broken = list(program.broken())
            would_run = bool(broken) and runs and program.passes()
            for assumption in broken:
                key = (assumption.function, assumption.expression, assumption.expected)
                if key not in found or would_run:
                    found[key] = (assumption, would_run)
        return list(found.values())

    def _has(self, entry: types.CodeType) -> bool:
        return any(ref() is entry for ref, _ in self._programs)


def _seen_now(reading: KeptGuard | LiveAssumption) -> Expectation | None:
    try:
        value = read(reading.source, reading.scope)
    except UnreadableError:
        return None
    expected = reading.expected
    return expected if expected.holds(value) else Expectation(expected.guard_type, value, expected.aliased)
