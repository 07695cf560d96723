"""The tree of groups that a large graph is shown as: by module, opened best first up to a budget of boxes."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["BUDGET", "Group", "Item", "Tree", "collapse"]

BUDGET = 150
_WIDTH = 32  # the most children a group may have before it gets groups in between


@dataclass(frozen=True)
class Item:
    """A thing to draw: its id, the groups it is in (outermost first), and what feeds it."""

    id: str
    path: tuple[str, ...] = ()
    hot: bool = False
    """A reader looks for it: its groups open first."""
    inputs: tuple[str, ...] = ()
    pinned: bool = False
    """Stays in its place even if it has no inputs."""


@dataclass(eq=False)
class Group:
    """A box that holds items and other groups; drawn closed as one box, or open around what it holds."""

    name: str
    children: list[Group | str] = field(default_factory=list)
    virtual: bool = False
    """True if only the number of its siblings made it necessary."""
    key: str = ""
    """Its place: ``0.3.1`` is the second child of the fourth child of the first of the root, whose key is empty."""
    size: int = 0
    hot: int = 0

    def items(self) -> Iterator[str]:
        """The ids of all items inside, in order."""
        waiting: list[Group | str] = [self]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                yield child
            else:
                waiting.extend(reversed(child.children))

    def groups(self) -> Iterator[Group]:
        """The groups it holds itself."""
        return (child for child in self.children if isinstance(child, Group))


class Tree:
    """All groups of one graph.  Which of them are open is for others to say, as a set of keys."""

    def __init__(self, root: Group) -> None:
        self.root = root
        self.groups: dict[str, Group] = {}
        """All groups but the root, by key."""
        self._above: dict[str, str] = {}
        waiting = [root]
        while waiting:
            group = waiting.pop()
            for k, child in enumerate(group.children):
                if isinstance(child, str):
                    self._above[child] = group.key
                else:
                    child.key = f"{group.key}.{k}" if group.key else str(k)
                    self.groups[child.key] = child
                    waiting.append(child)

    def above(self, item: str) -> list[str]:
        """The keys of the groups that an item is in, outermost first."""
        key = self._above[item]
        return [*self.around(key), key] if key else []

    def around(self, key: str) -> list[str]:
        """The keys of the groups that a group is in, outermost first."""
        steps = key.split(".")
        return [".".join(steps[:k]) for k in range(1, len(steps))]

    def boxes(self, opened: Collection[str]) -> int:
        """How many boxes there are to draw with these groups open."""
        shown = len(self.root.children)
        waiting = [self.root]
        while waiting:
            for child in waiting.pop().groups():
                if child.key in opened:
                    shown += len(child.children) - 1
                    waiting.append(child)
        return shown

    def start(self, budget: int = BUDGET, calm: int | None = None) -> list[str]:
        """The keys of the groups to open at first, in the order of choosing them.

        Args:
            budget: the most boxes to show.  The way to the first hot item opens first, then groups with others, then
                the outermost.
            calm: the most boxes to show for the sake of groups without hot items; by default ``budget``.
        """
        calm = budget if calm is None else min(calm, budget)
        chosen: list[str] = []
        shown = len(self.root.children)
        heap: list[tuple[bool, bool, int, int, int, Group]] = []
        order = 0
        lead = set(self._way_to_the_first_hot())

        def push(group: Group, depth: int) -> None:
            nonlocal order
            for child in group.groups():
                order += 1
                heapq.heappush(heap, (child.key not in lead, not child.hot, depth, -child.hot, order, child))

        push(self.root, 0)
        while heap:
            _, _, depth, _, _, group = heapq.heappop(heap)
            if len(group.children) == 1 or shown - 1 + len(group.children) <= (budget if group.hot else calm):
                chosen.append(group.key)
                shown += len(group.children) - 1
                push(group, depth + 1)
        return chosen

    def _way_to_the_first_hot(self) -> Iterator[str]:
        hot = [child for child in self.root.groups() if child.hot]
        while hot:
            yield hot[0].key
            hot = [child for child in hot[0].groups() if child.hot]


def collapse(items: Sequence[Item]) -> Tree:
    """The tree of groups for items in an order in which inputs come first.

    Every group is a stretch of that order (a module that is left and entered again is two groups), so edges between
    boxes never run in a circle.  Items without inputs, which stand at the front of the order wherever they are used,
    move to the innermost group that holds all their users.
    """
    root = _tree(items)
    _narrow(root)
    _count(root, {item.id for item in items if item.hot})
    return Tree(root)


def _tree(items: Sequence[Item]) -> Group:
    users: dict[str, list[str]] = {}
    for item in items:
        for source in item.inputs:
            users.setdefault(source, []).append(item.id)
    root = Group("")
    chain: list[Group] = [root]
    chains: dict[str, list[Group]] = {}
    names: list[str] = []
    sources = [item for item in items if not item.inputs and not item.pinned and users.get(item.id)]
    floating = {item.id for item in sources}
    for item in items:
        if item.id in floating:
            continue
        same = 0
        while same < min(len(names), len(item.path)) and names[same] == item.path[same]:
            same += 1
        chain = chain[: same + 1]
        for name in item.path[same:]:
            group = Group(name)
            chain[-1].children.append(group)
            chain.append(group)
        names = list(item.path)
        chain[-1].children.append(item.id)
        chains[item.id] = chain
    _settle(root, sources, users, chains)
    return root


def _settle(
    root: Group, sources: Sequence[Item], users: Mapping[str, list[str]], chains: Mapping[str, list[Group]]
) -> None:
    """Put each source before its first user, in the innermost group that holds all its users."""
    before: dict[int, list[tuple[Group | str, str]]] = {}
    for item in sources:
        mine = [chains[user] for user in users[item.id] if user in chains]
        shared = mine[0] if mine else [root]
        for other in mine[1:]:
            depth = 0
            while depth < min(len(shared), len(other)) and shared[depth] is other[depth]:
                depth += 1
            shared = shared[:depth]
        first = next((user for user in users[item.id] if user in chains), "")
        within = chains.get(first, [root])
        place: Group | str = within[len(shared)] if len(within) > len(shared) else first
        before.setdefault(id(shared[-1]), []).append((place, item.id))
    for group in _groups(root):
        coming: dict[object, list[str]] = {}
        for place, name in before.get(id(group), ()):
            coming.setdefault(place if isinstance(place, str) else id(place), []).append(name)
        if coming:
            settled: list[Group | str] = [*coming.pop("", [])]
            for child in group.children:
                settled += coming.get(child if isinstance(child, str) else id(child), [])
                settled.append(child)
            group.children = settled


def _groups(root: Group) -> Iterator[Group]:
    waiting = [root]
    while waiting:
        group = waiting.pop()
        yield group
        waiting += group.groups()


def _narrow(root: Group) -> None:
    """Give a group with many children groups in between, of consecutive children."""
    for group in list(_groups(root)):
        while len(group.children) > _WIDTH:
            parts = [group.children[k : k + _WIDTH] for k in range(0, len(group.children), _WIDTH)]
            group.children = [Group(_span(part), part, virtual=True) if len(part) > 1 else part[0] for part in parts]


def _span(part: Sequence[Group | str]) -> str:
    names = [child.name for child in part if isinstance(child, Group)]
    ends = (names[0].split(" … ")[0], names[-1].split(" … ")[-1]) if names else ("", "")
    return " … ".join(dict.fromkeys(end for end in ends if end))


def _count(root: Group, hot: Collection[str]) -> None:
    for group in reversed(list(_groups(root))):
        for child in group.children:
            if isinstance(child, Group):
                group.size, group.hot = group.size + child.size, group.hot + child.hot
            else:
                group.size, group.hot = group.size + 1, group.hot + (child in hot)
