"""The diff of one stage, and how much of it is open."""

from __future__ import annotations

from typing import Any

from ..analysis.diff import diff
from ..model import Comparison
from .details import Details
from .drawing import drawing
from .opening import Opening
from .payload import plain
from .scene import Plan
from .searching import Entry, index

__all__ = ["START", "Stage", "UnknownNodeError", "plan_of"]

START = 100
"""The most boxes at first.  A saved notebook holds that drawing, so it should not take much room."""


class UnknownNodeError(LookupError):
    """The graph has no node, group or stage of that name."""


def plan_of(comparison: Comparison, stage: str = "dynamo") -> Plan:
    """The plan of the drawings of one stage.  To pair large graphs takes a while: make it once."""
    variants = comparison.variants
    return Plan(diff(variants.get("before"), variants.get("after"), stage), START, brief=True)


class Stage:
    """All that is needed to draw one stage of a comparison and to tell about its nodes."""

    def __init__(self, comparison: Comparison, name: str, plan: Plan | None = None) -> None:
        self.name = name
        self.plan = plan or plan_of(comparison, name)
        self.details = Details(comparison, self.plan)
        self.opening = self.first()
        self._names = {plain(known): known for known in (*self.plan.diff.order, *self.plan.nodes)}
        self._entries: dict[str, Entry] | None = None

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def first(self) -> Opening:
        """The groups that are open at first."""
        return Opening(self.plan.tree, START)

    def draw(self, opening: Opening, serial: int, group: str | None = None, item: str | None = None) -> dict[str, Any]:
        """The drawing with these groups open, as the front end takes it.

        Args:
            opening: the open groups.
            serial: the number of the drawing.
            group: the group that was opened or closed, which should stay where it is on the screen.
            item: the node that should, if it is no group.

        Raises:
            LayoutError: no engine can draw it.
        """
        content = self.plan.scene(opening.keys, opening.asked)
        if group is not None:
            item = next(self.plan.tree.groups[group].items(), None)
        anchor = content.where.get(item, "") if item is not None else ""
        view: dict[str, Any] = plain(drawing(self.plan, content, stage=self.name, serial=serial, anchor=anchor))
        return view

    @property
    def entries(self) -> dict[str, Entry]:
        """What can be searched, made when it is first asked for."""
        if self._entries is None:
            self._entries = index(self.plan)
        return self._entries

    def known(self, name: object) -> str:
        """The diff's own id for what the front end calls a node.

        Raises:
            UnknownNodeError: there is none.
        """
        found = self._names.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownNodeError("there is no such node in this graph")
        return found

    def boxed(self, name: str) -> str | None:
        """The node that a box is drawn for: a parameter has none, but a node that reads it has."""
        if name not in self.plan.hidden:
            return name
        return next((user for user in self.plan.users.get(name, ()) if user not in self.plan.hidden), None)
