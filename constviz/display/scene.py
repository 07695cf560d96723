"""What a picture of a diff shows: boxes, the frames of modules around them, and lines; before any drawing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..analysis.diff import Diff, DiffEdge, DiffNode, FoldLink, Status
from ..analysis.inlining import frame_function
from ..model import Node, Role
from .collapse import BUDGET, Group, Item, collapse
from .labels import brief_type, fold_call, middle, node_label

__all__ = ["Box", "Frame", "Line", "Plan", "Scene", "scene"]

_MANY_INPUTS = 12
_AROUND = 12  # nodes on each side of a group that is drawn alone


@dataclass(frozen=True)
class Box:
    """One box: a node, a fold, a graph break, or a closed group of nodes."""

    id: str
    lines: tuple[str, ...]
    kind: str
    """``op``, ``input``, ``output``, ``constant``, ``fold``, ``break`` or ``group``."""
    status: Status
    before: bool
    """Whether it stands in the picture of before; ``after`` likewise."""
    after: bool
    tooltip: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """The ids in the diff of what it shows."""
    group: str = ""
    """The key of the closed group that it is."""


@dataclass(frozen=True)
class Frame:
    """What one module holds.  The outermost frame has no name and no border."""

    name: str
    children: tuple[Box | Frame, ...]
    group: str = ""
    """The key of the open group that it surrounds."""

    def boxes(self) -> Iterator[Box]:
        """All boxes inside."""
        for child in self.children:
            if isinstance(child, Box):
                yield child
            else:
                yield from child.boxes()


@dataclass(frozen=True)
class Line:
    """An edge between boxes.  ``stands_for``: from removed nodes to the constant that took their place."""

    source: str
    target: str
    before: bool
    after: bool
    stands_for: bool = False

    @property
    def status(self) -> Status:
        """Kept, or on which side only."""
        return Status.KEPT if self.before and self.after else Status.REMOVED if self.before else Status.ADDED


@dataclass(frozen=True)
class Scene:
    """A picture's content."""

    root: Frame
    lines: tuple[Line, ...]
    where: Mapping[str, str]
    """The box that shows each node, graph break and fold, by its id in the diff."""


def scene(diff: Diff, budget: int = BUDGET, calm: int | None = None) -> Scene:
    """Choose what of a diff to show in at most ``budget`` boxes; modules without folds open up to ``calm`` boxes."""
    plan = Plan(diff, budget)
    return plan.scene(plan.tree.start(budget, calm))


class Plan:
    """All that can be drawn of a diff: made once, then drawn with these or those groups open.

    Parameters and buffers that did not change are left out: the tooltips of their users name them.
    """

    def __init__(self, diff: Diff, budget: int = BUDGET, *, brief: bool = False) -> None:
        """``brief``: boxes are called ``n7`` or ``g0_3`` by their place, and not after what they show."""
        self.diff = diff
        self._numbers = {name: k for k, name in enumerate(diff.order)} if brief else None
        self.nodes = {node.id: node for node in diff.nodes}
        self.cuts = {cut.id: cut for cut in diff.cuts}
        self.folds = {link.id: link for link in diff.folds}
        self._edges = {(edge.source, edge.target): edge for edge in diff.edges}
        self.inputs: dict[str, list[str]] = {}
        self.users: dict[str, list[str]] = {}
        for edge in diff.edges:
            self.inputs.setdefault(edge.target, []).append(edge.source)
            self.users.setdefault(edge.source, []).append(edge.target)
        self.hidden = {
            node.id
            for node in diff.nodes
            if _is_quiet_parameter(node) and any(not self._is_output(user) for user in self.users.get(node.id, ()))
        }
        self.types: dict[tuple[str, ...], str] = {}
        for diff_node in diff.nodes:
            path, types = diff_node.node.module, diff_node.node.module_types
            self.types.update({path[: k + 1]: kind for k, kind in enumerate(types[: len(path)])})
        self._ids: set[str] = set()
        self._boxes: dict[str, Box] = {}
        self._paths: dict[str, tuple[str, ...]] = {"": ()}
        self.tree = collapse(self._items([name for name in diff.order if name not in self.hidden], budget))
        for key, group in self.tree.groups.items():  # parents come first
            outer = self._paths[key.rpartition(".")[0]]
            self._paths[key] = outer if group.virtual else (*outer, group.name)

    def scene(self, opened: Collection[str], asked: Collection[str] = ()) -> Scene:
        """The drawing with some groups open.

        Args:
            opened: the keys of the open groups.
            asked: those of them that get a frame even if they are no modules, for the reader opened them.
        """
        if not self.tree.root.children:
            nothing = Box("empty", ("no graph",), "group", Status.KEPT, True, True)
            return Scene(Frame("", (nothing,)), (), {})
        root = Frame("", tuple(self._children(self.tree.root, opened, asked)))
        where = {member: box.id for box in root.boxes() for member in box.members}
        return Scene(root, tuple(self._lines(where, self.diff.edges)), where)

    def inside(self, key: str) -> Scene:
        """One group alone, the groups in it closed, with some of the nodes around it that it reads or that read it."""
        group, opened = self.tree.groups[key], {key}
        while len(group.children) == 1 and (only := next(group.groups(), None)) is not None:
            group = only
            opened.add(group.key)
        root = Frame(self.title(group, f"{group.size} nodes"), tuple(self._children(group, opened, ())), key)
        where = {member: box.id for box in root.boxes() for member in box.members}
        feeds = [(source, name) for name in where for source in self.inputs.get(name, ())]
        uses = [(name, user) for name in where for user in self.users.get(name, ()) if user not in where]
        edges = [self._edges[ends] for ends in (*feeds, *uses)]
        sides = [
            dict.fromkeys(s for s, _ in feeds if s not in where and s not in self.hidden),
            dict.fromkeys(u for _, u in uses),
        ]
        around = [tuple(self.box(name) for name in list(side)[:_AROUND]) for side in sides]
        where |= {name: box.id for boxes in around for box in boxes for name in box.members}
        return Scene(Frame("", (*around[0], root, *around[1])), tuple(self._lines(where, edges)), where)

    def _is_output(self, name: str) -> bool:
        return name in self.nodes and self.nodes[name].node.role is Role.OUTPUT

    # -- grouping ------------------------------------------------------------------------------------------------

    def _items(self, visible: list[str], budget: int) -> list[Item]:
        modules = any(self.nodes[n].node.module for n in visible if n in self.nodes)
        inputs = [n for n in visible if n in self.nodes and self.nodes[n].node.op == "placeholder"]
        by_source = not modules and len(visible) > budget
        items = []
        path: tuple[str, ...] = ()
        for name in visible:
            node = self.nodes[name].node if name in self.nodes else None
            if node is None:  # a break stays in the group it interrupts
                hot, pinned = True, False
            else:
                hot, pinned = name in self.folds, node.op == "placeholder" and len(inputs) <= _MANY_INPUTS
                path = () if pinned else node.module if not by_source else _source_path(node)
            feeds = tuple(source for source in self.inputs.get(name, ()) if source not in self.hidden)
            items.append(Item(name, path, hot, feeds, pinned))
        return items

    def _children(self, group: Group, opened: Collection[str], asked: Collection[str]) -> Iterator[Box | Frame]:
        for child in group.children:
            if isinstance(child, str):
                yield self.box(child)
            elif child.key not in opened:
                yield self._group(child)
            else:
                inside = tuple(self._children(child, opened, asked))
                is_module = not child.virtual and self._paths[child.key] in self.types
                # a frame around one box says little
                if child.key in asked or (is_module and len(inside) > 1):
                    yield Frame(self.title(child, f"{child.size} nodes"), inside, child.key)
                else:
                    yield from inside

    def title(self, group: Group, nameless: str = "nodes") -> str:
        """What to call a group: its name, and its class if it is a module."""
        name = group.name or nameless
        kind = self.types.get(self._paths[group.key], "") if not group.virtual else ""
        return f"{name} ({kind})" if kind else name

    # -- boxes ---------------------------------------------------------------------------------------------------

    def box(self, name: str) -> Box:
        """The box of a node, a graph break or a fold: the same in every drawing."""
        found = self._boxes.get(name)
        if found is None:
            found = self._boxes[name] = self._box(self._id(name), name)
        return found

    def _id(self, name: str) -> str:
        if self._numbers is not None:
            return f"n{self._numbers[name]}"
        stem = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "node"
        found, k = stem, 1
        while found in self._ids:
            found, k = f"{stem}_{k}", k + 1
        self._ids.add(found)
        return found

    def _box(self, box: str, name: str) -> Box:
        if name in self.cuts:
            cut = self.cuts[name]
            words = ("graph break", middle(cut.reason, 48))
            before, after = cut.status is not Status.ADDED, cut.status is not Status.REMOVED
            return Box(box, words, "break", cut.status, before, after, ("graph break", cut.reason), (name,))
        if name in self.folds:
            return _fold_box(box, name, self.folds[name], name in self.nodes)
        diff_node = self.nodes[name]
        node, status = diff_node.node, diff_node.status
        kind = {Role.INPUT: "input", Role.OUTPUT: "output", Role.CONSTANT: "constant"}.get(node.role, "op")
        sign = {Status.REMOVED: "− ", Status.ADDED: "+ ", Status.CONSTANT: "+ "}.get(status, "")
        first, *rest = node_label(node)
        lines = (sign + first, *rest)
        read = (f"{p.role} {p.target}: {brief_type(p.shape, p.dtype)}" for p in self.parameters(name))
        tooltip = (*_facts(node), *read)
        before, after = diff_node.before is not None, diff_node.after is not None
        return Box(box, lines, kind, status, before, after, tooltip, (name,))

    def parameters(self, name: str) -> Iterator[Node]:
        """The parameters and buffers that a node reads and that have no box of their own."""
        return (self.nodes[source].node for source in self.inputs.get(name, ()) if source in self.hidden)

    def _group(self, group: Group) -> Box:
        found = self._boxes.get(f"group {group.key}")
        if found is None:
            found = self._boxes[f"group {group.key}"] = self._closed(group)
        return found

    def _closed(self, group: Group) -> Box:
        members = tuple(group.items())
        name = "group." + ".".join(self._paths[group.key] or ("nodes",))
        box = self._id(name) if self._numbers is None else "g" + group.key.replace(".", "_")
        inside = [self.nodes[m] for m in members if m in self.nodes]
        counts = [f"{len(members)} nodes"]
        counts += [f"− {n} removed" for n in [sum(d.status is Status.REMOVED for d in inside)] if n]
        counts += [f"+ {n} added" for n in [sum(d.status is Status.ADDED for d in inside)] if n]
        new = (
            sum(d.status is Status.CONSTANT for d in inside)
            + sum(m in self.folds for m in members)
            - sum(d.id in self.folds for d in inside)
        )
        counts += [f"+ {new} constant{'s' * (new != 1)}"] if new else []
        before = any(d.before for d in inside)
        after = any(d.after for d in inside) or any(m in self.folds for m in members)
        status = Status.KEPT if before == after else Status.REMOVED if before else Status.CONSTANT
        title = self.title(group)
        lines = (middle(title, 44), ", ".join(counts))
        return Box(box, lines, "group", status, before, after, (title,), members, group.key)

    # -- lines ---------------------------------------------------------------------------------------------------

    def _lines(self, where: Mapping[str, str], edges: Iterable[DiffEdge]) -> Iterator[Line]:
        sides: dict[tuple[str, str], list[bool]] = {}
        for edge in edges:
            source, target = where.get(edge.source), where.get(edge.target)
            if source is None or target is None or source == target:
                continue
            sides_of = sides.setdefault((source, target), [False, False])
            sides_of[0] |= edge.status is not Status.ADDED
            sides_of[1] |= edge.status is not Status.REMOVED
        for (source, target), (before, after) in sides.items():
            yield Line(source, target, before, after)
        for link in self.diff.folds:
            became = where.get(link.id)
            for source in map(where.get, self.ends(link)):
                if source is not None and became is not None and source != became and (source, became) not in sides:
                    sides[source, became] = [True, True]
                    yield Line(source, became, True, True, stands_for=True)

    def ends(self, link: FoldLink) -> Iterator[str]:
        """Of the nodes that a folded call left out, those whose values came out of it."""
        gone = set(link.inlined)
        feeding = {source for name in link.inlined for source in self.inputs.get(name, ()) if source in gone}
        return (name for name in link.inlined if name not in feeding)


def _is_quiet_parameter(node: DiffNode) -> bool:
    return node.status is Status.KEPT and node.node.role in (Role.PARAMETER, Role.BUFFER)


def _source_path(node: Node) -> tuple[str, ...]:
    """Without modules: the functions that were called, and the line."""
    calls = tuple(frame_function(frame) for frame in node.stack)
    return (*calls, f"line {node.stack[-1].line}") if node.stack else ()


def _fold_box(box: str, name: str, link: FoldLink, has_node: bool) -> Box:
    fold = link.fold
    place = fold.location.short if fold.location else ""
    value = fold.result.text if fold.result else ""
    if not has_node and not link.consumers and not link.derived:
        place = f"{place}, not in the graph".lstrip(", ")
    lines = (middle("+ " + fold_call(fold), 40), middle(place, 40), middle(f"= {value}", 40))
    facts = ["folded: " + fold_call(fold)]
    facts += [f"called at {fold.location.short}: {fold.location.source}"] if fold.location else []
    facts += [f"result: {fold.result.text} ({fold.result.type})"] if fold.result else []
    facts += [f"stands for {len(link.inlined)} nodes of before"] if link.inlined else []
    status = Status.CONSTANT
    return Box(box, tuple(line for line in lines if line), "fold", status, False, True, tuple(facts), (name,))


def _facts(node: Node) -> Iterable[str]:
    yield f"{node.name}: {node.op} {node.target}"
    if node.arguments:
        yield f"({middle(node.arguments, 120)})"
    if node.shape is not None:
        yield " ".join(filter(None, (brief_type(node.shape, node.dtype), node.device)))
    if node.value is not None:
        yield f"= {node.value.text}"
    if node.module:
        yield "in " + ".".join(node.module)
    if node.location is not None:
        yield f"{node.location.short} {node.location.function}: {node.location.source}"
