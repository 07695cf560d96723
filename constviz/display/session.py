"""One shown diagram: what it shows now, and how it answers the front end's messages.  No widget in here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..analysis.diff import diff
from ..model import Comparison
from .details import Details
from .drawing import drawing
from .opening import Opening
from .payload import payload, picture_name, plain, stages, weight
from .scene import Plan
from .searching import Entry, find, index

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["START", "STATE", "Cancelled", "Progress", "Refold", "Session"]

START = 100
"""The most boxes at first.  A saved notebook holds that drawing, so it should not take much room."""

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
        extra: more tables by name, such as timings.
        refold: captures again with other marks; None if that is not possible.
        schedule: runs the capture; by default at once, in the thread that handles the message.

    Raises:
        LayoutError: no engine can draw it.
    """

    def __init__(
        self,
        comparison: Comparison,
        publish: Callable[[dict[str, Any]], None] = lambda traits: None,
        *,
        extra: Mapping[str, pd.DataFrame] | None = None,
        refold: Refold | None = None,
        schedule: Callable[[Callable[[], None]], object] = lambda job: job(),
    ) -> None:
        self.comparison = comparison
        self._publish, self._extra, self._refold, self._schedule = publish, extra, refold, schedule
        self._lock = threading.RLock()
        self._progress: Progress | None = None
        self._started = False
        self._stages: dict[str, _Stage] = {}
        self._picture = picture_name(comparison)
        self._serial = 0
        self.selected = ""
        self.status: dict[str, Any] = _status()
        self._stage, self.view, self.data = self._shown(comparison, self._stages, stages(comparison)[0])

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
        except _Refusal as refusal:
            return {"error": str(refusal)}
        except Exception as error:  # a front end that gets no answer waits for one
            return {"error": _told(error)}
        return {"done": True} if answer is None else answer

    # -- asking --------------------------------------------------------------------------------------------------

    def _details(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"details": plain(self._stage.details(self._stage.known(message.get("node"))))}

    def _search(self, message: Mapping[str, Any]) -> dict[str, Any]:
        hits = find(self._stage.entries, str(message.get("text", "")))
        boxes = {box["node"]: name for name, box in self.view["boxes"].items() if box["node"]}
        shown = [[plain(name), boxes.get(plain(name), "")] for name in hits[:_HITS]]
        return {"hits": shown, "total": len(hits)}

    # -- other drawings ------------------------------------------------------------------------------------------

    def _toggle(self, message: Mapping[str, Any]) -> None:
        stage, key = self._stage, message.get("group")
        if key not in stage.plan.tree.groups:
            raise _Refusal("there is no such group in this graph")
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
            raise _Refusal("there are no graphs of that stage")
        self._show(*self._shown(self.comparison, self._stages, str(name)))

    def _redraw(self, opening: Opening, key: str | None = None, item: str | None = None) -> None:
        view = self._drawn(self._stage, opening, key, item)
        self._stage.opening, self.view = opening, view  # after the drawing, which may fail
        self._publish({"view": view})

    def _drawn(
        self, stage: _Stage, opening: Opening, key: str | None = None, item: str | None = None
    ) -> dict[str, Any]:
        content = stage.plan.scene(opening.keys, opening.asked)
        if key is not None:
            item = next(stage.plan.tree.groups[key].items(), None)
        anchor = content.where.get(item, "") if item is not None else ""
        self._serial += 1
        view: dict[str, Any] = plain(drawing(stage.plan, content, stage=stage.name, serial=self._serial, anchor=anchor))
        return view

    def _shown(
        self, comparison: Comparison, known: dict[str, _Stage], name: str
    ) -> tuple[_Stage, dict[str, Any], dict[str, Any]]:
        """A stage as it was left, or as it is at first."""
        stage = known.get(name) or _Stage(comparison, name)
        view = self._drawn(stage, stage.opening)
        room = STATE - weight(view)
        can_fold = self._refold is not None
        data = payload(comparison, stage.plan, stage=name, can_fold=can_fold, extra=self._extra, room=room)
        data["picture"] = self._picture  # which stands in the notebook whatever is captured again
        known[name] = stage
        return stage, view, data

    def _show(self, stage: _Stage, view: dict[str, Any], data: dict[str, Any]) -> None:
        self._stage, self.view, self.data = stage, view, data
        if self.selected not in stage.names:
            self.selected = ""
        self._publish({"data": data, "view": view, "selected": self.selected})

    # -- what if -------------------------------------------------------------------------------------------------

    def _fold(self, message: Mapping[str, Any]) -> None:
        if self._refold is None:
            raise _Refusal("a report that was loaded from a file cannot be captured again")
        names = message.get("names")
        progress = Progress(lambda text: self._say(progress, text))
        with self._lock:
            if self._progress is not None:
                raise _Refusal("a capture is still running: cancel it first")
            if not isinstance(names, (list, tuple)) or not {mark.function for mark in self.comparison.marks} >= {
                *names
            }:
                raise _Refusal("there are no such marked functions")
            self._progress, self._started = progress, False
            self._tell(busy=True, text="capturing again…")
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
                known: dict[str, _Stage] = {}
                name = self._stage.name if self._stage.name in stages(comparison) else stages(comparison)[0]
                shown = self._shown(comparison, known, name)
                self.comparison, self._stages = comparison, known
                self._show(*shown)
                self._finish()
        except Cancelled:
            self._finish(text="cancelled")
        except BaseException as error:
            self._finish(error=_told(error))
            if not isinstance(error, Exception):  # an interrupt is for whoever runs this
                raise

    def _cancel(self, message: Mapping[str, Any]) -> None:
        if self._progress is None:
            return
        self._progress.cancelled.set()
        if self._started:
            self._tell(busy=True, text="cancelling…")
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
        self.status = plain(_status(busy, text, error))
        self._publish({"status": self.status})


class _Refusal(Exception):
    """A message that asks for what is not there."""


class _Stage:
    """The diff of one stage, and how it is shown."""

    def __init__(self, comparison: Comparison, name: str) -> None:
        self.name = name
        variants = comparison.variants
        self.plan = Plan(diff(variants.get("before"), variants.get("after"), name), START, brief=True)
        self.details = Details(comparison, self.plan)
        self.opening = self.first()
        self.names = {plain(known): known for known in (*self.plan.diff.order, *self.plan.nodes)}
        self._entries: dict[str, Entry] | None = None

    def first(self) -> Opening:
        """The groups that are open at first."""
        return Opening(self.plan.tree, START)

    @property
    def entries(self) -> dict[str, Entry]:
        """What can be searched, made when it is first asked for."""
        if self._entries is None:
            self._entries = index(self.plan)
        return self._entries

    def known(self, name: object) -> str:
        """The diff's own id for what the front end calls a node."""
        found = self.names.get(name) if isinstance(name, str) else None
        if found is None:
            raise _Refusal("there is no such node in this graph")
        return found

    def boxed(self, name: str) -> str | None:
        """The node that a box is drawn for: a parameter has none, but a node that reads it has."""
        if name not in self.plan.hidden:
            return name
        return next((user for user in self.plan.users.get(name, ()) if user not in self.plan.hidden), None)


def _told(error: BaseException) -> str:
    words: str = plain(f"{type(error).__name__}: {error}".split("; the DOT text", 1)[0])
    return words


def _status(busy: bool = False, text: str = "", error: str = "") -> dict[str, Any]:
    return {"busy": busy, "text": text, "error": error}
