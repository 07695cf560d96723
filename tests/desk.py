"""A session of the diagram, without a browser: it is asked, and every trait it publishes is kept."""

from __future__ import annotations

import json

from constviz.display.session import Session

DONE = {"done": True}


class Desk:
    """A session, and every trait it published."""

    def __init__(self, made, **options):
        self.published = []
        self.session = Session(made, self.published.append, **options)

    def ask(self, kind, **message):
        answer = self.session.answer({"kind": kind, **message})
        json.dumps(answer, allow_nan=False)
        return answer

    @property
    def view(self):
        return self.session.view

    @property
    def groups(self):
        return {box["group"]: name for name, box in self.view["boxes"].items() if box["group"]}

    def box_of(self, node):
        return next((name for name, box in self.view["boxes"].items() if box["node"] == node), None)

    def changed(self):
        """The names of the traits published since this was last asked."""
        names = [name for traits in self.published for name in traits]
        self.published.clear()
        return names
