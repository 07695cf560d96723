"""What speaks for and against each fold: what was read, what came of asking again, what the graph does with it."""

from __future__ import annotations

import dis
import enum
import types
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..analysis.verdicts import Answers, Evidence, judge
from ..model import Fold, Node, Outcome, Variant
from .again import Again
from .assumptions import LiveAssumption
from .bytecode import (
    asks_for_size,
    unguarded_questions,
    unguarded_state,
    writes_outside,
)
from .describe import tensors_in
from .equality import difference
from .events import RawFold
from .leads import is_traced, library_calls
from .preserve import Snapshot
from .probes import probe
from .readers import function_of
from .record import Recorder
from .seam import CompileOptions, freezes_parameters
from .unlisted import ProgramWrites, closed_over, functions_given, left_open_later, not_reached

__all__ = ["FirstCall", "judged"]

_IN_PLACE = {"setitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "ipow", "iand", "ior", "ixor", "imatmul"}
_VIEWS = {
    "view", "reshape", "t", "transpose", "permute", "expand", "squeeze", "unsqueeze", "getitem", "select", "narrow",
    "flatten", "detach", "chunk", "split", "unbind", "contiguous", "as_strided", "mT", "T",
}  # fmt: skip

_PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(...), torch.dtype, torch.device, torch.Size, torch.layout,
    torch.memory_format, slice, range, types.FunctionType, types.BuiltinFunctionType, type,
)  # fmt: skip


@dataclass(frozen=True)
class FirstCall:
    """The first call of two variants: what each returned, and what it left in its inputs."""

    eager: Variant
    eager_inputs: Any
    before: Variant
    after: Variant
    after_inputs: Any
    again: Again = field(default_factory=Again)
    """What came of calling ``after`` once more."""

    def difference(self) -> str | None:
        """How ``after`` differs from eager; None if it does not, or did not get through."""
        if self.after.error is not None:
            return None
        found = difference(self.eager.output, self.after.output)
        if found is None and self.eager.needs_grad != self.after.needs_grad:
            found = "the result " + ("lost" if self.eager.needs_grad else "gained") + " its gradient"
        if found is None and self.eager.aliases == self.before.aliases != self.after.aliases:
            lost = len(self.eager.aliases) > len(self.after.aliases)
            found = f"the result {'no longer shares' if lost else 'now shares'} memory with an input"
        if found is None:
            written = difference(list(self.eager_inputs[0]), list(self.after_inputs[0]))
            found = f"in an input, {written}" if written else None
        return found


def judged(
    after: Variant,
    saw_before: Recorder,
    saw_after: Recorder,
    assumptions: Sequence[LiveAssumption],
    first: FirstCall,
    state: Snapshot,
    options: CompileOptions,
    ask: bool,
) -> Variant:
    """The variant with a verdict on each of its folds."""
    mismatch = first.difference()
    blamed = _blamed(after, saw_after) if mismatch else set()
    writes = ProgramWrites(saw_after)
    owners = {id(raw.fn.__self__) for raw in saw_after.folds if isinstance(raw.fn, types.MethodType)}
    folds = []
    for fold in after.folds:
        raw = saw_after.folds[fold.position] if fold.position is not None else None
        if raw is None or fold.outcome is not Outcome.FOLDED:
            evidence = Evidence()
        else:
            mine = [a for a in assumptions if a.is_read_by(raw.fn, owners)]
            answers = probe(raw, state, mine) if ask else Answers()
            evidence = _evidence(fold, raw, after, saw_before, mine, answers, options)
            evidence = replace(
                evidence,
                written_by_program=writes.read_by(raw.fn),
                mismatch=mismatch if fold.id in blamed else None,
                unasked="" if ask else "probes were turned off",
                **_came_of_it(fold, evidence, first.again),
            )
        verdict, reason, advice = judge(fold, evidence)
        kept = fold.reason if not reason or fold.outcome is not Outcome.FOLDED else f"{reason}; {advice}"
        folds.append(replace(fold, verdict=verdict, reason=kept))
    return replace(after, folds=tuple(folds))


def _evidence(
    fold: Fold,
    raw: RawFold,
    after: Variant,
    saw_before: Recorder,
    assumptions: Sequence[LiveAssumption],
    answers: Answers,
    options: CompileOptions,
) -> Evidence:
    fn = function_of(raw.fn)
    graph = next((g for g in after.graphs if g.index == fold.graph), None)
    nodes = graph.nodes if graph else ()
    tensors = tensors_in(raw.returned)
    holders = {name for name in (fold.node, *fold.derived) if name}
    return Evidence(
        traced=is_traced(fn, saw_before),
        assumptions=list(dict.fromkeys(a.expression for a in assumptions)),
        library_calls=library_calls(fn),
        takes_tensor=not raw.fixed and (raw.given is None or bool(tensors_in([list(raw.given[0]), raw.given[1]]))),
        makes_nodes=any(found.nodes for found in saw_before.reads_of(fn)),
        symbolic=any(isinstance(d, str) for n in nodes for d in n.shape or ()),
        dynamic=options.dynamic is not False,
        owner_is_argument=isinstance(raw.fn, types.MethodType) and _uses_self(fn),
        result=_kind(raw.returned),
        passed_on=raw.passed_on is not None and raw.target is None,
        frozen=freezes_parameters(options),
        asks_size=any(asks_for_size(asked) for asked in (fn, *functions_given(raw))),
        asks_tensor=unguarded_questions(fn),
        unguarded=unguarded_state(fn),
        closes_over=closed_over(raw),
        left_open=left_open_later(raw.fn, saw_before, options.dynamic is not False),
        not_reached=not_reached(raw.fn, saw_before),
        sets=writes_outside(fn),
        own_storage=not any(a.expected.aliased for a in assumptions),
        written=_written(nodes, holders),
        leaves_graph=raw.leaves or any(n.op == "output" and holders & set(n.inputs) for n in nodes),
        autograd=any(t.grad_fn is not None for t in tensors),
        **vars(answers),
    )


def _came_of_it(fold: Fold, evidence: Evidence, again: Again) -> dict[str, Any]:
    """What the second call says about one fold."""
    written = fold.position in again.written or evidence.written
    if evidence.result == "number" or not again.made:
        return {"written": written}
    differs = again.difference if written or evidence.leaves_graph or not again.written else None
    backward = again.backward if evidence.autograd else None
    return {"written": written, "second_call": differs, "second_backward": backward, "called_again": True}


def _blamed(after: Variant, saw: Recorder) -> set[str]:
    """Which folds a wrong first call is laid at: those with tensors or objects if there are any, else all."""
    folded = [f for f in after.folds if f.outcome is Outcome.FOLDED and f.position is not None]
    suspects = {
        f.id
        for f in folded
        if _kind(saw.folds[f.position or 0].returned) != "number" or any(a.value.shape is not None for a in f.arguments)
    }
    return suspects or {f.id for f in folded}


def _kind(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return "enum"
    if isinstance(value, _PLAIN):
        return "number"
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, (tuple, frozenset)):
        kinds = {_kind(item) for item in value}
        return "number" if kinds <= {"number"} else sorted(kinds - {"number"})[-1]
    return "container" if isinstance(value, (list, dict, set)) else "object"


def _uses_self(fn: Any) -> bool:
    code = getattr(fn, "__code__", None)
    if code is None or not code.co_varnames:
        return True
    name = code.co_varnames[0]
    used = (i.argval if isinstance(i.argval, tuple) else (i.argval,) for i in dis.get_instructions(code))
    return any(name in values for values in used)


def _written(nodes: Sequence[Node], holders: set[str]) -> bool:
    """Whether an in-place operation has the constant, or a view of it, as what it writes to."""
    views = set(holders)
    for node in nodes:
        name = node.target.rsplit(".", 1)[-1]
        first = node.arguments.split(",")[0].strip()
        if first not in views or node.op not in ("call_function", "call_method"):
            continue
        if name in _IN_PLACE or (name.endswith("_") and not name.endswith("__")):
            return True
        if name in _VIEWS:
            views.add(node.name)
    return False
