"""One shown diagram: what it shows now, and how it answers the front end's messages.  No widget in here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

from ..model import Comparison
from ..naming import goes_by, marks_in_words
from .opening import Opening
from .payload import payload, picture_name, plain, stages, table_of, weight
from .scene import Plan
from .searching import find
from .stage import Stage, UnknownNodeError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STATE", "Cancelled", "Progress", "Refold", "Session"]

STATE = 180_000
"""The most bytes of data and drawing at first, in a saved notebook; the scripts take 85,000 more."""

_HITS = 500


class Cancelled(Exception):
    """The reader no longer wants what is being captured."""


class Progress:
    """Tells the reader how far a capture is; raises :class:`Cancelled` once it is no longer wanted."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.cancelled = threading.Event()
        """Set when the reader cancels."""

    def __call__(self, text: str) -> None:
        if self.cancelled.is_set():
            raise Cancelled
        self._tell(text)


Refold = Callable[[tuple[str, ...], Progress], Comparison]
"""Captures again with the named marks honoured and all others ignored."""


class Session:
    """The state behind one diagram.

    Messages may come on any thread; they are answered one after the other.

    Args:
        comparison: what to show, with its assumptions as they are now.
        publish: called with traits that have changed: ``data``, ``view``, ``selected``, ``status``.
        plan: the plan of the first stage, if there is one already.
        extra: more tables by name, such as timings.
        refold: captures again with other marks; None if that is not possible.
        schedule: runs the capture; by default at once, in the thread that handles the message.
        can_be_cancelled: whether messages are handled while it runs; asked when it is wanted.
        lock: held while anything is changed and published; default: one of its own.

    Raises:
        LayoutError: no engine can draw it.
    """

    def __init__(
        self,
        comparison: Comparison,
        publish: Callable[[dict[str, Any]], None] = lambda traits: None,
        *,
        plan: Plan | None = None,
        extra: Mapping[str, pd.DataFrame] | None = None,
        refold: Refold | None = None,
        schedule: Callable[[Callable[[], None]], object] = lambda job: job(),
        can_be_cancelled: Callable[[], bool] = lambda: True,
        lock: threading.RLock | None = None,
    ) -> None:
        self.comparison = self._first = comparison
        self._publish, self._extra, self._refold, self._schedule = publish, extra, refold, schedule
        self._lock = lock or threading.RLock()
        self._progress: Progress | None = None
        self._started = False
        self._can_be_cancelled, self._hears = can_be_cancelled, True
        first = stages(comparison)[0]
        self._stages: dict[str, Stage] = {} if plan is None else {first: Stage(comparison, first, plan)}
        self._picture = picture_name(comparison)
        self._serial = 0
        self.selected = ""
        self.status: dict[str, Any] = _status()
        self._stage, self.view, self.data = self._shown(comparison, self._stages, first)

    def add_table(self, name: str, frame: pd.DataFrame) -> None:
        """Show one more table, or another in its place."""
        with self._lock:
            self._extra = {**(self._extra or {}), name: frame}
            if self.comparison is self._first:
                others = [table for table in self.data["tables"] if table["name"] != name]
                self.data = {**self.data, "tables": [*others, table_of(name, frame)]}
                self._publish({"data": self.data})

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one message; ``{"error": text}`` if there is none."""
        handlers: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
            "details": self._details,
            "search": self._search,
            "toggle": self._toggle,
            "reveal": self._reveal,
            "reset": self._reset,
            "stage": self._show_stage,
            "fold": self._fold,
            "cancel": self._cancel,
        }
        handler = handlers.get(str(message.get("kind")))
        if handler is None:
            return {"error": "there is no such message"}
        try:
            # a capture takes long, and must not keep others from being answered
            with contextlib.nullcontext() if handler == self._fold else self._lock:
                answer = handler(message)
        except (_RefusalError, UnknownNodeError) as refusal:
            return {"error": str(refusal)}
        except Exception as error:  # a front end that gets no answer waits for one
            return {"error": _told(error)}
        return {"done": True} if answer is None else answer

    # -- asking --------------------------------------------------------------------------------------------------

    def _details(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"details": plain(self._stage.details(self._stage.known(message.get("node"))))}

    def _search(self, message: Mapping[str, Any]) -> dict[str, Any]:
        text = message.get("text", "")
        if not isinstance(text, str):
            raise _RefusalError("only text can be searched for")
        hits = find(self._stage.entries, text)
        boxes = {box["node"]: name for name, box in self.view["boxes"].items() if box["node"]}
        shown = [[plain(name), boxes.get(plain(name), "")] for name in hits[:_HITS]]
        return {"hits": shown, "total": len(hits)}

    # -- other drawings ------------------------------------------------------------------------------------------

    def _toggle(self, message: Mapping[str, Any]) -> None:
        stage, key = self._stage, message.get("group")
        if not _is_among(key, stage.plan.tree.groups):
            raise _RefusalError("there is no such group in this graph")
        opening = stage.opening.copy()
        opening.toggle(str(key))
        self._redraw(opening, str(key))

    def _reveal(self, message: Mapping[str, Any]) -> None:
        name = self._stage.known(message.get("node"))
        opening = self._stage.opening.copy()
        inside = self._stage.boxed(name)
        if inside is not None and opening.reveal(inside):
            self._redraw(opening, item=inside)
        self.selected = plain(name)
        self._publish({"selected": self.selected})

    def _reset(self, message: Mapping[str, Any]) -> None:
        self._redraw(self._stage.first())

    def _show_stage(self, message: Mapping[str, Any]) -> None:
        name = message.get("stage")
        if name not in stages(self.comparison):
            raise _RefusalError("there are no graphs of that stage")
        self._show(*self._shown(self.comparison, self._stages, str(name)))

    def _redraw(self, opening: Opening, group: str | None = None, item: str | None = None) -> None:
        view = self._drawn(self._stage, opening, group, item)
        self._stage.opening, self.view = opening, view  # after the drawing, which may fail
        self._publish({"view": view})

    def _drawn(
        self, stage: Stage, opening: Opening, group: str | None = None, item: str | None = None
    ) -> dict[str, Any]:
        self._serial += 1
        return stage.draw(opening, self._serial, group, item)

    def _shown(
        self, comparison: Comparison, known: dict[str, Stage], name: str
    ) -> tuple[Stage, dict[str, Any], dict[str, Any]]:
        """A stage as it was left, or as it is at first."""
        stage = known.get(name) or Stage(comparison, name)
        view = self._drawn(stage, stage.opening)
        room = STATE - weight(view)
        can_fold = self._refold is not None
        extra = self._extra if comparison is self._first else None  # they are of the report's own marks
        data = payload(comparison, stage.plan, stage=name, can_fold=can_fold, extra=extra, room=room)
        data["what_if"] = self._what_if(comparison)
        data["picture"] = self._picture  # which stands in the notebook whatever is captured again
        known[name] = stage
        return stage, view, data

    def _show(self, stage: Stage, view: dict[str, Any], data: dict[str, Any]) -> None:
        self._stage, self.view, self.data = stage, view, data
        if self.selected not in stage:
            self.selected = ""
        self._publish({"data": data, "view": view, "selected": self.selected})

    # -- what if -------------------------------------------------------------------------------------------------

    def _fold(self, message: Mapping[str, Any]) -> None:
        if self._refold is None:
            raise _RefusalError("a report that was loaded from a file cannot be captured again")
        names = message.get("names")
        progress = Progress(lambda text: self._say(progress, text))
        with self._lock:
            if self._progress is not None:
                raise _RefusalError("a capture is still running: cancel it first")
            known = {name for mark in self.comparison.marks for name in goes_by(mark)}
            if not isinstance(names, (list, tuple)) or any(not _is_among(name, known) for name in names):
                raise _RefusalError("there are no such marked functions")
            self._progress, self._started, self._hears = progress, False, self._can_be_cancelled()
            self._tell(busy=True, text="capturing again, between cells…")
        try:
            self._schedule(lambda: self._capture(self._refold, tuple(names), progress))
        except Exception:
            self._finish()
            raise

    def _capture(self, refold: Refold | None, names: tuple[str, ...], progress: Progress) -> None:
        """The long work; only its beginning and end hold the lock, so that messages are answered meanwhile."""
        with self._lock:
            if self._progress is not progress or refold is None:
                return
            self._started = True
        try:
            comparison = refold(names, progress)
            with self._lock:
                progress("drawing…")
                known: dict[str, Stage] = {}
                name = self._stage.name if self._stage.name in stages(comparison) else stages(comparison)[0]
                shown = self._shown(comparison, known, name)
                self.comparison, self._stages = comparison, known
                self._show(*shown)
                self._finish(text=f"what if: {self._what_if(comparison)}; report.shown has its tables")
        except Cancelled:
            self._finish(text="cancelled")
        except BaseException as error:
            self._finish(error=_told(error))
            if not isinstance(error, Exception):  # an interrupt is for whoever runs this
                raise

    def _what_if(self, comparison: Comparison) -> str:
        """What is other than in the report itself, in words; empty for that."""
        return "" if comparison is self._first else marks_in_words(comparison.marks)

    def _cancel(self, message: Mapping[str, Any]) -> None:
        if self._progress is None:
            return
        self._progress.cancelled.set()
        if self._started:
            self._tell(busy=True, text="cancelling: stops after this step…")
        else:
            self._finish(text="cancelled")

    def _say(self, progress: Progress, text: str) -> None:
        with self._lock:
            if self._progress is progress:
                self._tell(busy=True, text=text)

    def _finish(self, text: str = "", error: str = "") -> None:
        with self._lock:
            self._progress = None
            self._tell(text=text, error=error)

    def _tell(self, busy: bool = False, text: str = "", error: str = "") -> None:
        if busy and not self._hears:
            text += " interrupt the kernel to stop it"
        self.status = plain(_status(busy, text, error))
        if busy and not self._hears:
            self.status["cancel"] = False
        self._publish({"status": self.status})


def _is_among(value: object, known: Container[str]) -> bool:
    return isinstance(value, str) and value in known  # a front end may send anything, lists too


class _RefusalError(Exception):
    """A message that asks for what is not there."""


def _told(error: BaseException) -> str:
    try:
        told = str(error)
    except Exception:  # of the user's own making
        told = "it cannot be told in words"
    words: str = plain(f"{type(error).__name__}: {told}".split("; the DOT text", 1)[0])
    return words


def _status(busy: bool = False, text: str = "", error: str = "") -> dict[str, Any]:
    return {"busy": busy, "text": text, "error": error}
