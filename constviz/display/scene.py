"""What a picture of a diff shows: boxes, the frames of modules around them, and lines; before any drawing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..analysis.diff import Diff, DiffNode, FoldLink, Status
from ..analysis.inlining import frame_function
from ..model import Node, Role
from .collapse import BUDGET, Group, Item, collapse
from .labels import brief_type, fold_call, middle, node_label

__all__ = ["Box", "Frame", "Line", "Scene", "scene"]

_MANY_INPUTS = 12


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


@dataclass(frozen=True)
class Frame:
    """What one module holds.  The outermost frame has no name and no border."""

    name: str
    children: tuple[Box | Frame, ...]

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


def scene(diff: Diff, budget: int = BUDGET, calm: int | None = None) -> Scene:
    """Choose what of a diff to show in at most ``budget`` boxes; modules without folds open up to ``calm`` boxes.

    Parameters and buffers that did not change are left out: the tooltips of their users name them.
    """
    return _Builder(diff, budget, calm).build()


class _Builder:
    def __init__(self, diff: Diff, budget: int, calm: int | None) -> None:
        self.diff, self.budget, self.calm = diff, budget, calm
        self.nodes = {node.id: node for node in diff.nodes}
        self.cuts = {cut.id: cut for cut in diff.cuts}
        self.folds = {link.id: link for link in diff.folds}
        self.inputs: dict[str, list[str]] = {}
        for edge in diff.edges:
            self.inputs.setdefault(edge.target, []).append(edge.source)
        used = {source for target, sources in self.inputs.items() for source in sources if not self._is_output(target)}
        self.hidden = {n.id for n in diff.nodes if _is_quiet_parameter(n) and n.id in used}
        self.types: dict[tuple[str, ...], str] = {}
        for diff_node in diff.nodes:
            path, types = diff_node.node.module, diff_node.node.module_types
            self.types.update({path[: k + 1]: kind for k, kind in enumerate(types[: len(path)])})
        self.of_item: dict[str, str] = {}
        self.ids: set[str] = set()

    def build(self) -> Scene:
        visible = [name for name in self.diff.order if name not in self.hidden]
        if not visible:
            nothing = Box("empty", ("no graph",), "group", Status.KEPT, True, True)
            return Scene(Frame("", (nothing,)), ())
        root = collapse(self._items(visible), self.budget, self.calm)
        return Scene(Frame("", tuple(self._children(root, ()))), tuple(self._lines()))

    def _is_output(self, name: str) -> bool:
        return name in self.nodes and self.nodes[name].node.role is Role.OUTPUT

    # -- grouping ------------------------------------------------------------------------------------------------

    def _items(self, visible: list[str]) -> list[Item]:
        modules = any(self.nodes[n].node.module for n in visible if n in self.nodes)
        inputs = [n for n in visible if n in self.nodes and self.nodes[n].node.op == "placeholder"]
        items = []
        path: tuple[str, ...] = ()
        for name in visible:
            node = self.nodes[name].node if name in self.nodes else None
            if node is None:  # a break stays in the group it interrupts
                hot, pinned = True, False
            else:
                hot, pinned = name in self.folds, node.op == "placeholder" and len(inputs) <= _MANY_INPUTS
                path = () if pinned else node.module if modules else self._by_source(node, len(visible))
            feeds = tuple(source for source in self.inputs.get(name, ()) if source not in self.hidden)
            items.append(Item(name, path, hot, feeds, pinned))
        return items

    def _by_source(self, node: Node, count: int) -> tuple[str, ...]:
        if count <= self.budget:
            return ()
        calls = tuple(frame_function(frame) for frame in node.stack)
        return (*calls, f"line {node.stack[-1].line}") if node.stack else ()

    def _children(self, group: Group, path: tuple[str, ...]) -> Iterator[Box | Frame]:
        for child in group.children:
            if isinstance(child, str):
                yield self._box(child)
                continue
            inner = path if child.virtual else (*path, child.name)
            if not child.open:
                yield self._group(child, inner)
            elif child.virtual or inner not in self.types:
                yield from self._children(child, inner)
            else:
                inside = tuple(self._children(child, inner))
                # a frame around one box says little
                yield inside[0] if len(inside) == 1 else Frame(_titled(child.name, self.types[inner]), inside)

    # -- boxes ---------------------------------------------------------------------------------------------------

    def _id(self, *names: str) -> str:
        stem = re.sub(r"\W+", "_", names[0], flags=re.ASCII).strip("_") or "node"
        found, k = stem, 1
        while found in self.ids:
            found, k = f"{stem}_{k}", k + 1
        self.ids.add(found)
        return found

    def _box(self, name: str) -> Box:
        box = self._id(name)
        self.of_item[name] = box
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
        tooltip = (*_facts(node), *self._parameters(name))
        before, after = diff_node.before is not None, diff_node.after is not None
        return Box(box, lines, kind, status, before, after, tooltip, (name,))

    def _parameters(self, name: str) -> Iterator[str]:
        for source in self.inputs.get(name, ()):
            if source in self.hidden:
                node = self.nodes[source].node
                yield f"{node.role} {node.target}: {brief_type(node.shape, node.dtype)}"

    def _group(self, group: Group, path: tuple[str, ...]) -> Box:
        members = tuple(group.items())
        box = self._id("group." + ".".join(path or ("nodes",)))
        self.of_item.update(dict.fromkeys(members, box))
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
        title = _titled(group.name or "nodes", self.types.get(path, ""))
        return Box(box, (middle(title, 44), ", ".join(counts)), "group", status, before, after, (title,), members)

    # -- lines ---------------------------------------------------------------------------------------------------

    def _lines(self) -> Iterator[Line]:
        sides: dict[tuple[str, str], list[bool]] = {}
        for edge in self.diff.edges:
            ends = self.of_item.get(edge.source), self.of_item.get(edge.target)
            if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
                continue
            sides_of = sides.setdefault((ends[0], ends[1]), [False, False])
            sides_of[0] |= edge.status is not Status.ADDED
            sides_of[1] |= edge.status is not Status.REMOVED
        for (source, target), (before, after) in sides.items():
            yield Line(source, target, before, after)
        for link in self.diff.folds:
            gone = set(link.inlined)
            feeding = {s for name in link.inlined for s in self.inputs.get(name, ()) if s in gone}
            ends_of = [self.of_item.get(name) for name in link.inlined if name not in feeding]
            target_box = self.of_item[link.id]
            for source_box in dict.fromkeys(ends_of):
                if source_box is not None and source_box != target_box and (source_box, target_box) not in sides:
                    yield Line(source_box, target_box, True, True, stands_for=True)


def _is_quiet_parameter(node: DiffNode) -> bool:
    return node.status is Status.KEPT and node.node.role in (Role.PARAMETER, Role.BUFFER)


def _titled(name: str, kind: str) -> str:
    return f"{name} ({kind})" if kind else name


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
