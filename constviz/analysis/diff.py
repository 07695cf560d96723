"""What folding changed: the nodes of two variants as one graph, each kept, removed, added or constant."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from ..model import Fold, Node, Outcome, Role, Variant, _Word
from .inlining import inlined
from .matching import longest_increasing, match
from .program import Program

__all__ = ["Cut", "Diff", "DiffEdge", "DiffNode", "FoldLink", "Status", "diff", "fold_ids"]


class Status(_Word):
    """What became of a node, an edge or a graph break."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"
    CONSTANT = "constant"


@dataclass(frozen=True)
class DiffNode:
    """A node of the union of before and after."""

    id: str
    status: Status
    before: Node | None = None
    after: Node | None = None
    graph_before: int | None = None
    graph_after: int | None = None
    fold: str | None = None
    """The fold whose result this constant is, or whose call this removed node was inlined from."""

    @property
    def node(self) -> Node:
        """The node as it is after folding, or as it was if it is gone."""
        node = self.after or self.before
        assert node is not None
        return node

    @property
    def graph(self) -> int:
        """The index of the graph ``node`` stands in."""
        graph = self.graph_after if self.after is not None else self.graph_before
        assert graph is not None
        return graph


@dataclass(frozen=True)
class DiffEdge:
    """``source`` is an input of ``target``; both are ids of nodes, cuts or folds."""

    source: str
    target: str
    status: Status


@dataclass(frozen=True)
class Cut:
    """A graph break, where the dataflow of the union crosses from one graph to the next."""

    id: str
    reason: str
    status: Status


@dataclass(frozen=True)
class FoldLink:
    """A folded call and all that belongs to it, as ids of nodes of the union."""

    id: str
    """The id of its constant; an id of its own if the graph holds only a literal."""
    fold: Fold
    constant: str | None = None
    derived: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    inlined: tuple[str, ...] = ()
    """The nodes of before that the result stands for."""


@dataclass(frozen=True)
class Diff:
    """The union of two variants at one stage."""

    stage: str
    nodes: tuple[DiffNode, ...] = ()
    """In an order in which inputs come first."""
    edges: tuple[DiffEdge, ...] = ()
    cuts: tuple[Cut, ...] = ()
    folds: tuple[FoldLink, ...] = ()
    order: tuple[str, ...] = ()
    """The ids of all nodes, cuts and folds without a node, inputs first."""

    def count(self, status: Status) -> int:
        """Number of nodes of a status."""
        return sum(node.status is status for node in self.nodes)


def diff(before: Variant | None, after: Variant | None, stage: str = "dynamo") -> Diff:
    """Pair the nodes of two variants over all their graphs of one stage.

    A variant that was not captured counts as one without graphs.  What only hands values over a graph break is no
    node of the union: there is a :class:`Cut` instead.

    >>> from constviz.model import Graph, Node
    >>> graph = Graph(0, "f", (Node("x", "placeholder", "x"), Node("relu", "call_function", "relu", inputs=("x",))))
    >>> [str(node.status) for node in diff(None, Variant("after", graphs=(graph,))).nodes]
    ['added', 'added']
    """
    left = Program(before.stage(stage) if before else ())
    right = Program(after.stage(stage) if after else ())
    folds = [f for f in (after.folds if after else ()) if f.outcome is Outcome.FOLDED]
    origin = inlined(left, folds)
    union = _Union(left, right, match(left, right, origin))
    if union.topological is None:  # pairs that cross may close a circle; pairs in order cannot
        union = _Union(left, right, _uncrossed(left, union.pairs))
    return union.result(stage, folds, origin)


def fold_ids(after: Variant | None) -> list[str]:
    """The id of each fold's result in the union, without making it; empty where the program holds no result."""
    program = Program(after.stage("dynamo") if after else ())
    ids = _ids("after", program)
    found = []
    for fold in after.folds if after else ():
        holder = _holder(program, fold)
        folded = fold.outcome is Outcome.FOLDED
        found.append(ids.get(holder, _literal(fold)) if folded and holder is not None else _literal(fold) * folded)
    return found


def _holder(program: Program, fold: Fold, named: bool = True) -> int | None:
    # a fold names nodes of the graph Dynamo made; in later stages a node has to say itself whose it is
    holder = program.holder_of.get(fold.id)
    return program.number(fold.graph, fold.node) if holder is None and fold.node is not None and named else holder


def _literal(fold: Fold) -> str:
    return f"fold.{fold.id}"


def _uncrossed(left: Program, pairs: dict[int, int]) -> dict[int, int]:
    bound = {i: j for i, j in pairs.items() if left.inputs[i]}
    kept = set(longest_increasing([bound[i] for i in sorted(bound)]))
    return {i: j for i, j in pairs.items() if i not in bound or j in kept}


class _Union:
    """Two programs as one: ids, edges and a common order."""

    def __init__(self, left: Program, right: Program, pairs: dict[int, int]) -> None:
        self.left, self.right, self.pairs = left, right, pairs
        self.back = {j: i for i, j in pairs.items()}
        self.left_ids, self.right_ids = _ids("before", left), _ids("after", right)
        self.left_ids.update({i: self.right_ids[j] for i, j in pairs.items()})
        self.cuts, self._cut_ids = self._pair_cuts()
        self.edges = self._edges()
        self.sequence = self._merge()
        self.topological = _sorted([e for e, _ in self.edges], self.sequence)

    def _pair_cuts(self) -> tuple[list[Cut], tuple[dict[int, str], dict[int, str]]]:
        cuts: list[Cut] = []
        ids: tuple[dict[int, str], dict[int, str]] = ({}, {})
        left, right = self.left.breaks, self.right.breaks
        same: dict[int, int] = {}
        # the reason may name what Dynamo held at the time; the function it happened in does not change
        for look in (lambda c: (c.function, c.reason), lambda c: c.function):
            for n, cut in enumerate(left):
                found = (m for m in range(len(right)) if m not in same.values() and look(right[m]) == look(cut))
                if n not in same and (m := next(found, None)) is not None:
                    same[n] = m
        for n, cut in enumerate(left):
            ids[0][n] = f"break.{n}" if n in same else f"break.before.{n}"
            cuts.append(Cut(ids[0][n], cut.reason, Status.KEPT if n in same else Status.REMOVED))
        ids[1].update({m: ids[0][n] for n, m in same.items()})
        for m in range(len(right)):
            if m not in ids[1]:
                ids[1][m] = f"break.after.{m}"
                cuts.append(Cut(ids[1][m], right[m].reason, Status.ADDED))
        return cuts, ids

    def _edges(self) -> list[tuple[tuple[str, str], Status]]:
        sides = []
        for program, ids, cut_ids in zip(
            (self.left, self.right), (self.left_ids, self.right_ids), self._cut_ids, strict=True
        ):
            edges = [(ids[j], ids[i]) for i in ids for j in program.inputs[i] if j in ids]
            for n, cut in enumerate(program.breaks):
                edges += [(ids[j], cut_ids[n]) for j in cut.sources if j in ids]
                edges += [(cut_ids[n], ids[i]) for i in cut.targets if i in ids]
            sides.append(dict.fromkeys(edges))
        old, new = sides
        status = {e: Status.KEPT if e in old else Status.ADDED for e in new}
        status.update({e: Status.REMOVED for e in old if e not in new})
        return list(status.items())

    def _merge(self) -> list[str]:
        """After's order, with what only before has in front of the next node that both have."""
        sequence: dict[str, None] = {}
        lefts = _with_cuts(self.left, self.left_ids, self._cut_ids[0])
        place = {name: k for k, name in enumerate(lefts)}
        shared = set(self.left_ids.values()) & set(self.right_ids.values()) | set(self._cut_ids[1].values())
        done = 0
        for name in _with_cuts(self.right, self.right_ids, self._cut_ids[1]):
            until = max(done, place.get(name, 0))
            for gone in lefts[done:until]:
                if gone not in shared:
                    sequence.setdefault(gone)
            done = until
            sequence.setdefault(name)
        for gone in lefts[done:]:
            sequence.setdefault(gone)
        return list(sequence)

    def result(self, stage: str, folds: list[Fold], origin: dict[int, str]) -> Diff:
        links = [self._link(fold, origin, named=stage == "dynamo") for fold in folds]
        of_fold = {link.constant: link.fold.id for link in links if link.constant}
        nodes = {}
        for i, name in self.left_ids.items():
            if i not in self.pairs:
                was, graph = self.left.nodes[i], self.left.graph_of[i]
                nodes[name] = DiffNode(name, Status.REMOVED, was, graph_before=graph, fold=origin.get(i))
        for j, name in self.right_ids.items():
            node, pair = self.right.nodes[j], self.back.get(j)
            fold = of_fold.get(name, node.fold)
            made = Status.CONSTANT if node.role is Role.CONSTANT or fold else Status.ADDED
            old, old_graph = (None, None) if pair is None else (self.left.nodes[pair], self.left.graph_of[pair])
            status = made if pair is None else Status.KEPT
            nodes[name] = DiffNode(name, status, old, node, old_graph, self.right.graph_of[j], fold)
        edges = [DiffEdge(*ends, status) for ends, status in self.edges]
        drawn = {ends for ends, _ in self.edges}
        for link in links:
            fed = () if link.constant else link.consumers or link.derived
            edges += [DiffEdge(link.id, name, Status.ADDED) for name in fed if (link.id, name) not in drawn]
        order = _with_folds(self.topological or self.sequence, links)
        ordered = [nodes[name] for name in order if name in nodes]
        return Diff(stage, tuple(ordered), tuple(edges), tuple(self.cuts), tuple(links), tuple(order))

    def _link(self, fold: Fold, origin: dict[int, str], *, named: bool) -> FoldLink:
        holder = _holder(self.right, fold, named)
        constant = None if holder is None else self.right_ids.get(holder)
        consumers = self._names(fold, fold.consumers) if named else ()
        if not consumers and holder is not None:
            consumers = tuple(self.right_ids[u] for u in self.right.users[holder] if u in self.right_ids)
        gone = tuple(self.left_ids[i] for i, f in origin.items() if f == fold.id and i not in self.pairs)
        derived = self._names(fold, fold.derived) if named else ()
        return FoldLink(constant or _literal(fold), fold, constant, derived, consumers, gone)

    def _names(self, fold: Fold, names: Iterable[str]) -> tuple[str, ...]:
        numbers = (self.right.number(fold.graph, name) for name in names)
        return tuple(dict.fromkeys(self.right_ids[j] for j in numbers if j in self.right_ids))


def _ids(variant: str, program: Program) -> dict[int, str]:
    ids: dict[int, str] = {}
    seen: set[str] = set()
    for i in program.shown:
        name = f"{variant}.{program.graph_of[i]}.{program.nodes[i].name}"
        ids[i] = name if name not in seen else f"{name}#{i}"
        seen.add(ids[i])
    return ids


def _with_cuts(program: Program, ids: dict[int, str], cut_ids: dict[int, str]) -> list[str]:
    at = {cut.position: cut_ids[n] for n, cut in enumerate(program.breaks)}
    names: list[str] = []
    for i in range(len(program.nodes)):
        names += [at[i]] if i in at else []
        names += [ids[i]] if i in ids else []
    return names


def _with_folds(sequence: list[str], links: list[FoldLink]) -> list[str]:
    """Folds that have no node of their own stand before their first consumer."""
    place = {name: k for k, name in enumerate(sequence)}
    waiting: dict[int, list[str]] = {}
    for link in links:
        if link.constant is None:
            first = min((place[c] for c in link.consumers if c in place), default=len(sequence))
            waiting.setdefault(first, []).append(link.id)
    found: list[str] = []
    for k, name in enumerate([*sequence, ""]):
        found += waiting.get(k, [])
        found += [name] if name else []
    return found


def _sorted(edges: list[tuple[str, str]], sequence: list[str]) -> list[str] | None:
    """``sequence`` reordered as little as needed for every edge to point forwards; None if there is a circle."""
    place = {name: k for k, name in enumerate(sequence)}
    users: dict[str, list[str]] = {}
    missing = dict.fromkeys(sequence, 0)
    for source, target in edges:
        users.setdefault(source, []).append(target)
        missing[target] += 1
    ready = [place[name] for name, count in missing.items() if not count]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        order.append(sequence[heapq.heappop(ready)])
        for user in users.get(order[-1], ()):
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, place[user])
    return order if len(order) == len(sequence) else None
