"""What a capture found, as frozen dataclasses of plain data: no torch in here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = [
    "LEAD", "Argument", "Assumption", "Comparison", "Failure", "Fold", "Graph", "GraphBreak", "Guard", "Heat",
    "Location", "Mark", "Node", "Outcome", "Role", "SkippedFrame", "Timing", "Value", "Variant", "Verdict",
]  # fmt: skip

LEAD = "lead"
"""The ``guard`` of an assumption found in bytecode: neither proved nor watched."""

Dim = int | str
"""One dimension of a shape: a number, or the name of a symbol (``s0``)."""


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class Outcome(_Word):
    """What became of one call of a marked function."""

    FOLDED = "folded"
    INERT = "inert"
    GRAPH_BREAK = "graph_break"
    FRAME_SKIPPED = "frame_skipped"
    ERROR = "error"


class Verdict(_Word):
    """Whether a fold may be trusted, from best to worst."""

    SOUND = "sound"
    CONDITIONAL = "conditional"
    OPAQUE = "opaque"
    UNSOUND = "unsound"
    NOT_FOLDED = "not_folded"


class Role(_Word):
    """What a node is to the graph it stands in."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    OP = "op"
    SUBGRAPH = "subgraph"
    OUTPUT = "output"


@dataclass(frozen=True)
class Location:
    """A line of source: where something was written or called."""

    file: str
    line: int
    function: str = ""
    source: str = ""
    """The text of the line, without its indentation; empty if unknown."""

    @property
    def short(self) -> str:
        """``model.py:12``, or ``cell:5`` for a notebook cell: the same on every machine."""
        name = os.path.basename(self.file.replace("\\", "/"))
        if "ipykernel_" in self.file or self.file.startswith("<ipython-input"):
            name = "cell"
        return f"{name.strip('<>')}:{self.line}"


@dataclass(frozen=True)
class Heat:
    """A small picture of a tensor: means over blocks, from 0 for the least to 1 for the greatest element."""

    rows: int
    cols: int
    values: tuple[float | None, ...]
    """Row by row; None for a block without finite elements."""


@dataclass(frozen=True)
class Value:
    """A Python value, described: one deterministic line without addresses."""

    text: str
    type: str
    shape: tuple[Dim, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    nbytes: int = 0
    """Bytes of tensor storage that holding this value keeps alive."""
    stats: tuple[tuple[str, str], ...] = ()
    """Of a constant tensor: least, greatest, mean and so on, by name."""
    heat: Heat | None = None


@dataclass(frozen=True)
class Argument:
    """One argument of a folded call, by parameter name."""

    name: str
    value: Value


@dataclass(frozen=True)
class Node:
    """One FX node.  ``inputs`` are names of nodes in the same graph; ``arguments`` is their text with literals."""

    name: str
    op: str
    target: str
    role: Role = Role.OP
    inputs: tuple[str, ...] = ()
    arguments: str = ""
    shape: tuple[Dim, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    stride: tuple[Dim, ...] | None = None
    module: tuple[str, ...] = ()
    """The path of the nn.Module that made the node, outermost first: ``("layers.0", "attn")``."""
    module_types: tuple[str, ...] = ()
    """The class of each module on that path."""
    stack: tuple[Location, ...] = ()
    """The user's frames that made the node, outermost first."""
    value: Value | None = None
    """What a constant holds."""
    fold: str | None = None
    """The ``Fold.id`` whose result this node is."""

    @property
    def location(self) -> Location | None:
        """The innermost line of user code that made the node."""
        return self.stack[-1] if self.stack else None


@dataclass(frozen=True)
class Graph:
    """One FX graph: what one frame, or one stretch between graph breaks, became."""

    index: int
    name: str
    """The function whose frame was traced."""
    nodes: tuple[Node, ...]
    stage: str = "dynamo"
    location: Location | None = None
    """Where that function is defined."""
    break_reason: str | None = None
    """Why the graph ends where it does; None if it ends with its function."""

    @property
    def ops(self) -> int:
        """Number of operations: nodes that compute."""
        return sum(node.role is Role.OP for node in self.nodes)

    @property
    def constants(self) -> tuple[Node, ...]:
        """Nodes that hold a value burned in while tracing."""
        return tuple(node for node in self.nodes if node.role is Role.CONSTANT)


@dataclass(frozen=True)
class Fold:
    """One call of a marked function, seen while tracing."""

    id: str
    function: str
    outcome: Outcome
    location: Location | None = None
    """The line that called the function."""
    definition: Location | None = None
    arguments: tuple[Argument, ...] = ()
    result: Value | None = None
    reason: str = ""
    """Why the outcome is what it is, in one sentence."""
    verdict: Verdict | None = None
    graph: int | None = None
    """Index of the graph that holds the result."""
    node: str | None = None
    """Name of the ``get_attr`` node that holds it; None if the graph has only a literal."""
    consumers: tuple[str, ...] = ()
    """Names of the nodes that take the result."""
    position: int | None = field(default=None, compare=False)
    """Where the capture recorded it; means nothing outside of that capture."""
    derived: tuple[str, ...] = ()
    """Names of constants that Dynamo computed from the result (``2 * f(x)`` becomes ``mul_0``)."""


@dataclass(frozen=True)
class GraphBreak:
    """Where and why Dynamo gave up one graph and began another."""

    reason: str
    location: Location | None = None
    hint: str = ""
    explanation: str = ""


@dataclass(frozen=True)
class Guard:
    """One check that the compiled program makes before it runs."""

    type: str
    """Dynamo's guard type: ``TENSOR_MATCH``, ``EQUALS_MATCH``, ..."""
    expression: str
    """What is checked, as the user wrote it: ``CFG['scale']``, ``self.training``."""
    value: str = ""
    source: str = ""
    """Dynamo's name for it: ``G['CFG']['scale']``."""


@dataclass(frozen=True)
class Assumption:
    """Something ``before`` guards on and ``after`` does not."""

    function: str
    """The marked function that read it."""
    expression: str
    """What was read, as the user wrote it: ``CFG['scale']``."""
    guard: str
    """Dynamo's guard type, or ``lead`` for what was found in bytecode and could not be traced."""
    expected: str
    """Its value while tracing."""
    current: str | None = None
    """Its value now; None if it could not be read without running code."""
    holds: bool | None = None
    """Whether it is what was expected; None if that is not known."""


@dataclass(frozen=True)
class SkippedFrame:
    """A function that Dynamo left to plain Python."""

    function: str
    reason: str
    location: Location | None = None


@dataclass(frozen=True)
class Failure:
    """An exception, as text."""

    type: str
    message: str
    location: Location | None = None

    @property
    def summary(self) -> str:
        """``TypeError: first line``."""
        lines = [line.strip() for line in self.message.splitlines() if line.strip()]
        return f"{self.type}: {lines[0]}" if lines else self.type


@dataclass(frozen=True)
class Mark:
    """A function marked with ``assume_constant_result`` that the captured program calls."""

    function: str
    definition: Location | None = None
    selected: bool = True
    """False if this capture was asked to ignore it."""
    module: str = ""
    """The module that the function is defined in."""


@dataclass(frozen=True)
class Variant:
    """One way to run the function, and what came of it."""

    name: str
    graphs: tuple[Graph, ...] = ()
    graph_breaks: tuple[GraphBreak, ...] = ()
    guards: tuple[Guard, ...] = ()
    folds: tuple[Fold, ...] = ()
    skipped: tuple[SkippedFrame, ...] = ()
    compile_s: float | None = None
    """Seconds spent compiling, wall clock; None for a variant that is not compiled."""
    error: Failure | None = None
    result: Value | None = None
    """``output``, described."""
    needs_grad: bool = False
    """Whether a tensor in the output takes part in autograd."""
    aliases: tuple[tuple[int, int], ...] = ()
    """Which tensors of the output share memory with which of the inputs."""
    output: Any = field(default=None, compare=False)
    """What the call returned (tensors detached and copied).  Not saved: after ``load`` it is ``result``."""

    def stage(self, name: str) -> tuple[Graph, ...]:
        """The graphs of one stage (``dynamo``, ...)."""
        return tuple(graph for graph in self.graphs if graph.stage == name)


@dataclass(frozen=True)
class Timing:
    """How fast one variant is, for one set of inputs.  Times are microseconds a call; None if there is none."""

    variant: str
    device: str
    size: str = ""
    """Which inputs, if there are several."""
    median_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    speedup: float | None = None
    """How many times as fast as ``before``: the median over rounds of the ratio within a round."""
    speedup_low: float | None = None
    speedup_high: float | None = None
    host_us: float | None = None
    """Until the host is free again: on a CPU, all of it."""
    kernels: int | None = None
    """Kernels that a call launches on an accelerator; on a CPU those that Inductor generated."""
    peak_bytes: int | None = None
    """What the allocator of the accelerator gave out at most during a call, beyond what was there."""
    compile_s: float | None = None
    result: str = ""  # faster, slower, no difference; not equal, failed
    note: str = ""
    guards_us: float | None = None
    """Evaluating guards: the difference to calls in which Dynamo skips them."""
    guards_low_us: float | None = None
    guards_high_us: float | None = None
    graphs_us: float | None = None
    python_us: float | None = None
    """The rest: neither guards nor inside of compiled graphs."""


@dataclass(frozen=True)
class Comparison:
    """Everything a report knows: the variants of one call of one function."""

    function: str
    variants: dict[str, Variant]
    location: Location | None = None
    options: dict[str, str] = field(default_factory=dict)
    """The ``torch.compile`` options used, as text."""
    fold: tuple[str, ...] | None = None
    """Names of the marks that were honoured; None for all."""
    marks: tuple[Mark, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences a reader should know, such as why nothing was folded."""
    torch: str = ""
    """The version of PyTorch that was captured."""
    timings: tuple[Timing, ...] = ()
    """What was measured last."""
