"""``%constviz watch``: after each cell, say what the cell broke."""
# mypy: allow-untyped-calls
# (IPython gives many of its functions no types)

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .intercept import one_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .watching import Watch

__all__ = ["CellWatch"]


class CellWatch:
    """The watch of one shell; nothing is registered while it is off."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._watch: Watch | None = None

    def start(self) -> None:
        """Check after each cell from now on, this one included."""
        from .watching import watch

        current = watch()
        if self._watch is None:
            self._shell.events.register("post_run_cell", self.post_run_cell)
        self._watch = current

    def stop(self) -> None:
        """Switch it off, for the whole process."""
        if self._watch is not None:
            with contextlib.suppress(ValueError):
                self._shell.events.unregister("post_run_cell", self.post_run_cell)
            self._watch.stop()
            self._watch = None

    def describe(self) -> str:
        """Whether it is on, and what is watched."""
        if self._watch is None:
            return "off: %constviz watch says after each cell which folded value no longer holds"
        names = ", ".join(self._watch.functions)
        return f"on, after each cell: {names}" if names else "on, for functions reported from now on"

    def post_run_cell(self, result: Any) -> None:
        """A cell is over, in whatever way."""
        if self._watch is None:
            return
        try:
            from .watching import text

            if found := self._watch.check():
                print(text(found))
        except Exception as error:  # the user's cell is over: it must stay as it was
            print(f"constviz: could not check what is watched: {one_line(error)}")
