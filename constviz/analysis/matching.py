"""Which node of one program is which node of another: near linear, and not misled by an inserted node."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable

from ..model import Role
from .program import Program, plain_name

__all__ = ["longest_increasing", "match"]

_WORD = re.compile(r"\b[A-Za-z_][A-Za-z_0-9.]*\b")
_BUSY = 64  # a node with more users than this says little about any one of them

Key = Callable[[Program, int], Hashable]


def match(before: Program, after: Program, foreign: Collection[int] = ()) -> dict[int, int]:
    """Pair nodes of ``before`` with nodes of ``after``, each at most once.

    Descriptions are compared, exact ones first (operation, source lines, module, name, literals, shape), then
    looser ones.  What is unique on both sides is paired first, then what the edges lead to from known pairs, then
    what looks alike in order.

    Args:
        foreign: nodes of ``before`` expected to have no counterpart: only exact descriptions pair them.
    """
    _reclaim(before, after)
    _reclaim(after, before)
    pairs = _Pairs(before, after)
    pairs.placeholders()
    for key in (_exact, _same_code):
        pairs.by(key)
    pairs.banned.update(i for i in foreign if i not in pairs.there)
    pairs.by(_same_line)
    pairs.along_edges(_same_op, strict=True)
    pairs.nameless()
    pairs.outputs()
    return pairs.there


def _reclaim(one: Program, other: Program) -> None:
    """A value that one program takes over a graph break but the other reads as an input is an input in both."""
    genuine = {n.target for n in map(other.nodes.__getitem__, other.shown) if n.op == "placeholder"}
    own = {n.target for n in map(one.nodes.__getitem__, one.shown) if n.op == "placeholder"}
    computed = {plain_name(n.name) for n in one.nodes if n.op != "placeholder"}
    for i in sorted(one.carried):
        target = one.nodes[i].target
        if target in genuine and target not in own and plain_name(target) not in computed:
            one.reclaim(i)
            own.add(target)


# -- descriptions, from loose to exact ---------------------------------------------------------------------------


def _same_op(program: Program, i: int) -> Hashable:
    node = program.nodes[i]
    return node.op, plain_name(node.target) if node.op == "get_attr" else node.target, node.role, node.module


def _same_line(program: Program, i: int) -> Hashable:
    # without the module, and without outer frames: a function may be inlined here and a frame of its own there
    node = program.nodes[i]
    place = node.location
    return node.op, node.target, node.role, plain_name(node.name), place and (place.file, place.line)


def _same_code(program: Program, i: int) -> Hashable:
    return _same_op(program, i), tuple((f.file, f.line) for f in program.nodes[i].stack)


def _exact(program: Program, i: int) -> Hashable:
    node = program.nodes[i]
    names = set(node.inputs)
    literals = _WORD.sub(lambda word: "%" if word[0] in names else word[0], node.arguments)
    return _same_code(program, i), plain_name(node.name), literals, node.shape, node.dtype


# -- pairing -----------------------------------------------------------------------------------------------------


class _Pairs:
    """The pairs found so far (``there`` and ``back``), and the ways to find more."""

    def __init__(self, before: Program, after: Program) -> None:
        self.before, self.after = before, after
        self.there: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self.banned: set[int] = set()

    def _add(self, i: int, j: int) -> None:
        self.there[i], self.back[j] = j, i

    def _free(self) -> tuple[list[int], list[int]]:
        """What may still be paired.  The result of a fold may not: it is new, whatever it looks like."""
        left = [i for i in self.before.shown if i not in self.there and i not in self.banned]
        right = [j for j in self.after.shown if j not in self.back and self.after.nodes[j].fold is None]
        return (
            [i for i in left if self.before.nodes[i].role is not Role.OUTPUT],
            [j for j in right if self.after.nodes[j].role is not Role.OUTPUT],
        )

    def _alike(self, key: Key) -> Iterable[tuple[list[int], list[int]]]:
        left, right = self._free()
        found: dict[Hashable, tuple[list[int], list[int]]] = {}
        for i in left:
            found.setdefault(key(self.before, i), ([], []))[0].append(i)
        for j in right:
            if (bucket := found.get(key(self.after, j))) is not None:
                bucket[1].append(j)
        return [bucket for bucket in found.values() if bucket[1]]

    def by(self, key: Key) -> None:
        """Pair all that one description can pair."""
        for left, right in self._alike(key):
            if len(left) == len(right) == 1:
                self._add(left[0], right[0])
        self.along_edges(key)
        for left, right in self._alike(key):
            if len(left) == len(right):
                for i, j in zip(left, right, strict=True):
                    self._add(i, j)
        self._between_pairs(key)

    def _between_pairs(self, key: Key) -> None:
        """Where one side has more that look alike: those between the same two known pairs, then the rest in order."""
        kept = set(longest_increasing([self.there[i] for i in sorted(self.there)]))
        before = [i for i in sorted(self.there) if self.there[i] in kept]
        after = [self.there[i] for i in before]
        for left, right in self._alike(key):
            gaps: dict[int, list[int]] = defaultdict(list)
            for j in reversed(right):
                gaps[bisect_left(after, j)].append(j)
            for i in left:
                if same := gaps.get(bisect_left(before, i)):
                    self._add(i, same.pop())
            rest = [i for i in left if i not in self.there], [j for j in right if j not in self.back]
            for i, j in zip(*rest, strict=False):
                self._add(i, j)

    def along_edges(self, key: Key, *, strict: bool = False) -> None:
        """Follow edges out of known pairs, down and then up.  ``strict``: down only, and all inputs must agree."""
        free_before, free_after = self._free()
        keys_before = {i: key(self.before, i) for i in free_before}
        keys_after = {j: key(self.after, j) for j in free_after}
        down = (free_before, self.before.inputs, self.after.inputs, self.after.users)
        up = (free_before[::-1], self.before.users, self.after.users, self.after.inputs)
        for order, near_before, near_after, back in (down,) if strict else (down, up):
            for i in order:
                known = {self.there[n] for n in near_before[i] if n in self.there}
                if i in self.there or not known or (strict and len(known) < len(near_before[i])):
                    continue
                narrow = min((len(back[j]), j) for j in known)[1]
                candidates = [
                    j
                    for j in back[narrow][:_BUSY]
                    if j not in self.back and j in keys_after and keys_after[j] == keys_before[i]
                    if not strict or known.issuperset(near_after[j])
                ]
                if candidates:
                    agreeing = [len(known.intersection(near_after[j])) for j in candidates]
                    self._add(i, candidates[agreeing.index(max(agreeing))])

    # -- where a program begins and ends -------------------------------------------------------------------------

    def placeholders(self) -> None:
        """A placeholder is what it reads, wherever the trace first came upon it."""
        reads: dict[Hashable, list[int]] = defaultdict(list)
        for j in reversed(self.after.shown):
            node = self.after.nodes[j]
            reads[node.op, node.role, node.target].append(j)
        for i in self.before.shown:
            node = self.before.nodes[i]
            if node.op == "placeholder" and (same := reads.get((node.op, node.role, node.target))):
                self._add(i, same.pop())

    def nameless(self) -> None:
        """A break leaves ``___stack0`` where the other program reads ``x``: their place in a known pair tells."""
        programs = (self.before, self.after)
        for pair in sorted(self.there.items()):
            for ends in zip(self.before.inputs[pair[0]], self.after.inputs[pair[1]], strict=False):
                nodes = [program.nodes[end] for program, end in zip(programs, ends, strict=True)]
                stacked = [node.target.startswith("___stack") for node in nodes]
                if ends[0] in self.there or ends[1] in self.back or stacked[0] == stacked[1]:
                    continue
                if all(node.op == "placeholder" and node.shape == nodes[0].shape for node in nodes):
                    for program, end in zip(programs, ends, strict=True):
                        program.reclaim(end)
                    self._add(*ends)

    def outputs(self) -> None:
        """What both return last is the same output.  One left over beside a break is part of the break."""
        left, right = ([i for i in p.shown if p.nodes[i].role is Role.OUTPUT] for p in (self.before, self.after))
        for i, j in zip(reversed(left), reversed(right), strict=False):
            self._add(i, j)
        if self.before.breaks:
            self.before.joints.update(i for i in left if i not in self.there)
        if self.after.breaks:
            self.after.joints.update(j for j in right if j not in self.back)


def longest_increasing(values: list[int]) -> list[int]:
    """A longest strictly increasing subsequence of distinct numbers.

    >>> longest_increasing([3, 1, 2, 9, 4, 5])
    [1, 2, 4, 5]
    """
    tails: list[int] = []
    previous: dict[int, int | None] = {}
    for value in values:
        place = bisect_left(tails, value)
        previous[value] = tails[place - 1] if place else None
        tails[place : place + 1] = [value]
    found: list[int] = []
    last = tails[-1] if tails else None
    while last is not None:
        found.append(last)
        last = previous[last]
    return found[::-1]
