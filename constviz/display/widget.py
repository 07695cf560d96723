"""The interactive diagram: a :class:`Session` on the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from ..model import Comparison
from . import assets
from .labels import clean
from .scene import Plan
from .session import Refold, Session

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DiagramWidget"]


class _InTurn(traitlets.Unicode[str, str]):
    """Text that is set by one thread at a time: by a cell, by a front end's message, or by a capture."""

    def set(self, obj: Any, value: Any) -> None:
        with obj._turn:
            super().set(obj, value)


class DiagramWidget(anywidget.AnyWidget):
    """Before and after folding as two panes to move in, with search, details and tables.

    Args:
        comparison: what to show, with its assumptions as they are now.
        plan: the plan of the first drawing, if there is one already.
        extra: more tables by name, such as timings.
        refold: captures again with the named marks, telling its progress; None if that is not possible.
        schedule: runs that capture; by default at once, in the thread that handles the message.
        can_be_cancelled: whether messages are handled while it runs; asked when it is wanted.

    Raises:
        LayoutError: no engine can draw it.
    """

    data = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    selected = _InTurn().tag(sync=True)
    """The id of the node that is selected; set it to select another."""
    status = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        comparison: Comparison,
        *,
        plan: Plan | None = None,
        extra: Mapping[str, pd.DataFrame] | None = None,
        refold: Refold | None = None,
        schedule: Callable[[Callable[[], None]], object] = lambda job: job(),
        can_be_cancelled: Callable[[], bool] = lambda: True,
    ) -> None:
        # traitlets knows nothing of threads: what one changes while another notifies may be lost
        self._turn = threading.RLock()
        self._esm, self._css = assets.module(), assets.style()
        self._session = Session(
            comparison,
            self._publish,
            plan=plan,
            extra=extra,
            refold=refold,
            schedule=schedule,
            can_be_cancelled=can_be_cancelled,
            lock=self._turn,
        )
        first = {name: getattr(self._session, name) for name in ("data", "view", "selected", "status")}
        super().__init__(**first)
        self.on_msg(self._answer)
        self.observe(self._select, "selected")

    @property
    def comparison(self) -> Comparison:
        """What is shown: another one than at first if marks were ticked or unticked."""
        return self._session.comparison

    def add_table(self, name: str, frame: pd.DataFrame) -> None:
        """Show one more table, or another in its place."""
        self._session.add_table(name, frame)

    def _publish(self, traits: dict[str, Any]) -> None:
        with self._turn, self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """What a front end has changed, which is the selection alone."""
        if isinstance(sync_data.get("selected"), str):
            with self._turn:
                super().set_state({"selected": sync_data["selected"]})

    def _select(self, change: Mapping[str, Any]) -> None:
        self._session.selected = change["new"]

    def _answer(self, widget: object, message: object, buffers: object) -> None:
        if isinstance(message, dict) and "id" in message:
            self.send({**self._session.answer(message), "id": message["id"]})

    def __repr__(self) -> str:
        return f"interactive diagram of {clean(self.comparison.function)}"
