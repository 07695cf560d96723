"""Which groups a reader has open, and which close again when too many boxes would be on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from .collapse import BUDGET, Tree

__all__ = ["LIVE", "Opening"]

LIVE = 400
"""The most boxes on the screen: with more, a browser cannot move the drawing smoothly."""


class Opening:
    """The open groups of a tree.  Opening one beyond the limit closes those that were opened longest ago.

    A group that is open inside a closed one stays open there, out of sight.
    """

    def __init__(self, tree: Tree, budget: int = BUDGET, live: int = LIVE) -> None:
        self._tree, self._live = tree, live
        # as if opened in the reverse order of choosing: what is least worth seeing closes first
        self._keys = dict.fromkeys(reversed(tree.start(budget)))
        self.asked: frozenset[str] = frozenset()
        """Groups that the reader opened, and not the budget."""

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all open groups."""
        return frozenset(self._keys)

    def copy(self) -> Opening:
        """Another one with the same groups open."""
        other = object.__new__(Opening)
        other._tree, other._live, other._keys, other.asked = self._tree, self._live, dict(self._keys), self.asked
        return other

    def toggle(self, key: str) -> None:
        """Open a closed group, close an open one.

        Raises:
            KeyError: the tree has no such group.
        """
        group = self._tree.groups[key]
        if key in self._keys:
            del self._keys[key]
            self.asked -= {key}
            return
        inner = [key]
        while len(group.children) == 1 and (only := next(group.groups(), None)) is not None:
            group = only
            inner.append(group.key)
        self._open([*self._tree.around(key), *inner])
        self.asked |= {key}

    def reveal(self, item: str) -> bool:
        """Open all that hides an item; whether anything had to be opened.

        Raises:
            KeyError: the tree has no such item.
        """
        above = self._tree.above(item)
        closed = [key for key in above if key not in self._keys]
        self._open(above)
        self.asked |= set(closed)
        return bool(closed)

    def _open(self, keys: Sequence[str]) -> None:
        for key in keys:  # what is around a group was used with it, so it counts as opened now
            self._keys.pop(key, None)
            self._keys[key] = None
        for key in list(self._keys)[: -len(keys) or None]:
            if self._tree.boxes(self._keys) <= self._live:
                return
            del self._keys[key]
            self.asked -= {key}
