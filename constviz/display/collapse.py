"""Which nodes of a large graph to draw, and which to hide in boxes: by module, opened best first up to a budget."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["BUDGET", "Group", "Item", "collapse"]

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
    """True if only the number of its siblings made it necessary: no frame is drawn around it."""
    open: bool = False
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


def collapse(items: Sequence[Item], budget: int = BUDGET, calm: int | None = None) -> Group:
    """The tree of groups, opened as far as ``budget`` boxes allow.  The returned root is open.

    Args:
        items: in an order in which inputs come first.
        budget: the most boxes to show.  Groups with hot items open first, then the outermost.
        calm: the most boxes to show for the sake of groups without hot items; by default ``budget``.

    Every group is a stretch of that order (a module that is left and entered again is two groups), so edges between
    boxes never run in a circle.  Items without inputs, which stand at the front of the order wherever they are used,
    move to the innermost group that holds all their users.
    """
    root = _tree(items)
    _narrow(root)
    hot = {item.id for item in items if item.hot}
    _count(root, hot)
    _open(root, budget, budget if calm is None else min(calm, budget))
    return root


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
        waiting += [child for child in group.children if isinstance(child, Group)]


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


def _open(root: Group, budget: int, calm: int) -> None:
    root.open = True
    shown = len(root.children)
    order = 0
    heap: list[tuple[bool, int, int, int, Group]] = []

    def push(group: Group, depth: int) -> None:
        nonlocal order
        for child in group.children:
            if isinstance(child, Group):
                order += 1
                heapq.heappush(heap, (not child.hot, depth, -child.hot, order, child))

    push(root, 0)
    while heap:
        _, depth, _, _, group = heapq.heappop(heap)
        if len(group.children) == 1 or shown - 1 + len(group.children) <= (budget if group.hot else calm):
            group.open = True
            shown += len(group.children) - 1
            push(group, depth + 1)
