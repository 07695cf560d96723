"""Running a ``%%constfold`` cell as a plain cell, and learning when it is over."""
# mypy: allow-untyped-calls
# (IPython gives many of its functions no types)

from __future__ import annotations

import asyncio
import contextlib
import linecache
import re
import types
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from IPython.core.inputtransformer2 import cell_magic, leading_empty_lines

from .intercept import Collection, Interception

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

__all__ = ["Cells", "Session", "run_nested", "show_as_typed"]

_FIRST_LINE = re.compile(r"%%constfold(?P<options>\s[^?]*)?$")
_INTERRUPTS = (KeyboardInterrupt, asyncio.CancelledError)  # the second while a cell awaits something
_BEGIN = "get_ipython().find_cell_magic('constfold').__self__.begin({!r})\n"


@dataclass(eq=False)
class Session:
    """What one cell asked for, and what was collected in it."""

    collection: Collection
    options: Namespace
    owner: Any = None
    """The cell (IPython's ``ExecutionInfo``) that it ends with; None if IPython told of none."""
    asked: bool = True
    """False if every cell is watched and this one did not ask."""


class Cells:
    """The cells that are running, and the sessions that end with them."""

    def __init__(self, interception: Interception, finish: Callable[[Session, bool], None]) -> None:
        self._interception = interception
        self._finish = finish
        self._running: list[ExecutionInfo] = []
        self._sessions: list[Session] = []
        self._everything: Session | None = None
        self._roll_back: Callable[[], None] = lambda: None

    @property
    def watching_all(self) -> bool:
        """Whether every cell is watched, not only those that begin with ``%%constfold``."""
        return self._everything is not None

    def watch_all(self, options: Namespace) -> None:
        """Report after each cell from now on."""
        if self._everything is None:
            self._everything = Session(self._interception.open(), options, asked=False)
            self._roll_back = self._interception.checkpoint()

    def watch_none(self) -> None:
        """Leave cells alone that do not begin with ``%%constfold``."""
        if self._everything is not None:
            self._interception.close(self._everything.collection)
            self._everything = None

    def begin(self, options: Namespace) -> None:
        """Open a session that ends with the cell now running."""
        owner = self._running[-1] if self._running else None
        self._sessions.append(Session(self._interception.open(), options, owner))

    @contextlib.contextmanager
    def session(self, options: Namespace) -> Iterator[None]:
        """A session that ends here: reports after an error too, but not after an interrupt."""
        session = Session(self._interception.open(), options, owner=object())
        self._sessions.append(session)
        try:
            yield
        except BaseException as error:
            self._end(session, error)
            raise
        self._end(session, None)

    def close(self) -> None:
        """End everything without a report."""
        self._sessions.clear()
        self.watch_none()
        self._interception.close()

    def _end(self, session: Session, error: BaseException | None) -> None:
        if session not in self._sessions:  # unloaded by the cell itself
            return
        self._sessions.remove(session)
        self._interception.close(session.collection)
        if not isinstance(error, _INTERRUPTS):
            self._finish(session, error is not None)

    # -- what IPython calls --------------------------------------------------------------------------------------

    def pre_run_cell(self, info: ExecutionInfo) -> None:
        """A cell begins; perhaps one inside another."""
        if not self._running:
            self._roll_back = self._interception.checkpoint()
        self._running.append(info)

    def post_run_cell(self, result: ExecutionResult | None) -> None:
        """A cell is over.  ``result`` is None if it was interrupted while it awaited something."""
        info = result.info if result is not None else (self._running[-1] if self._running else None)
        error = result.error_before_exec or result.error_in_exec if result is not None else KeyboardInterrupt()
        self._running = [running for running in self._running if running is not info]
        for session in reversed(self._sessions):
            if session.owner is info or session.owner is None:
                self._end(session, error)
        if self._everything is not None and not self._running:
            if isinstance(error, _INTERRUPTS):
                self._everything.collection.take()
                self._roll_back()
            else:
                self._finish(self._everything, error is not None)

    def post_execute(self) -> None:
        """Something was run.  If silently, there is no other sign of its end."""
        for session in [s for s in self._sessions if s.owner is None]:
            self._end(session, None)

    def transform(self, lines: list[str]) -> list[str]:
        """Put one statement in place of the line ``%%constfold ...``; everything else of the cell stays as it is."""
        match = _FIRST_LINE.match(lines[0].rstrip()) if lines else None
        if match is None:
            return lines
        code = [text for line in lines[1:] if (text := line.strip()) and not text.startswith("#")]
        if not code or any(text.startswith("from __future__") for text in code):
            return lines  # to the cell magic: nothing to run, or nothing may stand before it
        body = lines[1:]
        if code[0].startswith("%%"):
            body = cell_magic(leading_empty_lines(body))
        return [_BEGIN.format((match["options"] or "").strip()), *body]

    # Not asked whether a cell typed in a terminal is complete: for a cell magic, an empty line says so.
    transform.has_side_effects = True  # type: ignore[attr-defined]


def show_as_typed(frame: types.FrameType, line: str) -> None:
    """Let tracebacks show the first line of a running cell as it was typed.  As a comment: it must parse."""
    name = frame.f_code.co_filename
    entry = linecache.cache.get(name)
    if entry is None or len(entry) != 4 or not entry[2][:1] or not entry[2][0].startswith(_BEGIN.partition("{")[0]):
        return
    typed = f"# %%constfold {line}".rstrip()
    linecache.cache[name] = (entry[0], entry[1], [f"{typed}\n", *entry[2][1:]], entry[3])


def run_nested(shell: InteractiveShell, cell: str) -> None:
    """Run a cell inside the running one.  Its error is raised, to be shown once, by the cell around it."""
    __tracebackhide__ = True
    with _tracebacks_held(shell):
        result = shell.run_cell(cell, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        raise error


@contextlib.contextmanager
def _tracebacks_held(shell: InteractiveShell) -> Iterator[None]:
    names = ("showtraceback", "showsyntaxerror", "showindentationerror")
    before = {name: shell.__dict__[name] for name in names if name in shell.__dict__}
    for name in names:
        shell.__dict__[name] = lambda *args, **kwargs: None
    try:
        yield
    finally:
        for name in names:
            del shell.__dict__[name]
        shell.__dict__.update(before)
