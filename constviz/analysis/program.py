"""The graphs of one variant end to end, as one sequence of nodes; what a graph break hands over is no node of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..model import Graph, Node, Role

__all__ = ["Break", "Program", "plain_name"]

_NUMBER = re.compile(r"_\d+$")
_SCOPE = re.compile(r"^[lg]_+(?:self_+)?(?:modules_+)?", re.IGNORECASE)


def plain_name(name: str) -> str:
    """A node's name without the counter and the scope prefix that Dynamo adds.

    >>> plain_name("l_x_"), plain_name("mul_12"), plain_name("L_self_modules_fc_parameters_weight_")
    ('x', 'mul', 'fc_parameters_weight')
    """
    return _NUMBER.sub("", _SCOPE.sub("", name.rstrip("_"))) or name


@dataclass
class Break:
    """The place between two graphs: which values end there, and which nodes take over after it."""

    reason: str
    function: str
    position: int
    """The number of nodes before it."""
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


class Program:
    """Nodes are numbered through all graphs; ``inputs`` and ``users`` hold those numbers.

    Three kinds of placeholders and outputs exist only because one function became several graphs, and are left out
    of ``shown``: the output of a graph that ends in a break, the placeholder of a later graph that receives such an
    output, and a parameter that an earlier graph has already.  ``alias`` leads from a repeated one to the first.
    """

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self.graphs = tuple(graphs)
        self.nodes: list[Node] = []
        self.graph_of: list[int] = []
        self.inputs: list[list[int]] = []
        self.users: list[list[int]] = []
        self.alias: dict[int, int] = {}
        self.carried: set[int] = set()
        self.joints: set[int] = set()
        self.breaks: list[Break] = []
        self._numbers: dict[tuple[int, str], int] = {}
        self._stored: dict[str, int] = {}  # value nodes of finished graphs, by the variable they were named after
        self._sources: dict[tuple[Role, str], int] = {}
        for place, graph in enumerate(self.graphs):
            self._append(place, graph)
        self._connect_breaks()

    def number(self, graph: int | None, name: str) -> int | None:
        """The number of a node, by the index of its graph and its name; for a repeated one, that of the first."""
        found = None if graph is None else self._numbers.get((graph, name))
        return found if found is None else self.alias.get(found, found)

    @property
    def shown(self) -> list[int]:
        """The numbers of the nodes that belong to the program itself."""
        hidden = self.carried | self.joints | self.alias.keys()
        return [i for i in range(len(self.nodes)) if i not in hidden]

    @functools.cached_property
    def holder_of(self) -> dict[str, int]:
        """The first node of the program itself that says it holds the result of a fold, by the fold's id."""
        return {fold: i for i in reversed(self.shown) if (fold := self.nodes[i].fold) is not None}

    def _append(self, place: int, graph: Graph) -> None:
        first = len(self.nodes)
        for node in graph.nodes:
            i = len(self.nodes)
            self._numbers[graph.index, node.name] = i
            self.nodes.append(node)
            self.graph_of.append(graph.index)
            self.users.append([])
            if node.op == "placeholder":
                self._place(i, node)
        for i in range(first, len(self.nodes)):
            named = (self.number(graph.index, name) for name in self.nodes[i].inputs)
            self.inputs.append([j for j in dict.fromkeys(named) if j is not None and j != i])
            for j in self.inputs[i]:
                self.users[j].append(i)
        for i in range(first, len(self.nodes)):
            if self.nodes[i].op not in ("placeholder", "output"):
                self._stored[plain_name(self.nodes[i].name)] = i
        if graph.break_reason is not None and place + 1 < len(self.graphs):
            outputs = [i for i in range(first, len(self.nodes)) if self.nodes[i].role is Role.OUTPUT]
            ends = [j for i in outputs for j in self.inputs[i]]
            self.joints.update(outputs)
            self.breaks.append(Break(graph.break_reason, graph.name, len(self.nodes), list(dict.fromkeys(ends))))

    def _place(self, i: int, node: Node) -> None:
        key = (node.role, node.target)
        if node.role is not Role.INPUT:
            self.alias.update({i: self._sources[key]} if key in self._sources else {})
        elif self.breaks:
            # After a break a local variable arrives as a placeholder.  If no node was stored under its name it
            # still is the input that an earlier graph had.
            if key in self._sources and plain_name(node.target) not in self._stored:
                self.alias[i] = self._sources[key]
            else:
                self.carried.add(i)
        self._sources.setdefault(key, i)

    def _connect_breaks(self) -> None:
        for number, cut in enumerate(self.breaks):
            end = self.breaks[number + 1].position if number + 1 < len(self.breaks) else len(self.nodes)
            span = range(cut.position, end)
            takers = [u for i in span if i in self.carried for u in self.users[i] if u not in self.joints]
            if not takers:  # nothing is handed over: the break still comes before what follows
                takers = [i for i in span if self.nodes[i].role is Role.OP and not self.inputs[i]][:1]
            cut.targets = list(dict.fromkeys(takers))

    def reclaim(self, i: int) -> None:
        """Take a carried placeholder as an input after all: the other program has it too."""
        if i not in self.carried:
            return
        self.carried.discard(i)
        for cut in self.breaks:
            cut.targets = [t for t in cut.targets if t not in self.users[i] or self._still_carried(t)]

    def _still_carried(self, i: int) -> bool:
        return any(j in self.carried for j in self.inputs[i])
