"""Whether a fold may be trusted: a verdict, the reason in one sentence, and what to do about it in another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..model import Fold, Outcome, Verdict

__all__ = ["Answers", "Evidence", "judge", "worst"]


@dataclass(frozen=True)
class Answers:
    """What came of the probes of one fold.  Texts name the counter-example; None means that there was none."""

    asked: bool = False
    repeat: str | None = None
    """The same arguments gave another result."""
    values: str | None = None
    """Another value of a tensor argument did."""
    sizes: str | None = None
    """Another size of a tensor argument did."""
    draws: bool = False
    """It drew random numbers."""
    writes: str | None = None
    """What it changed: a tensor argument, or state that it reads."""
    ambient: str | None = None
    """Dynamo hides some state while it traces; with that state the function answers otherwise."""
    failed: str | None = None
    """It raised when it was asked again."""


@dataclass(frozen=True)
class Evidence(Answers):
    """What is known of one fold besides its row: the answers to probes, and the rest."""

    traced: bool = False
    """Without its mark, Dynamo traced it from beginning to end, so all that it reads is known."""
    assumptions: Sequence[str] = ()
    """What it reads and nobody guards, in the user's words."""
    library_calls: Sequence[str] = ()
    takes_tensor: bool = False
    makes_nodes: bool = True
    """Without its mark it computes on tensors."""
    symbolic: bool = False
    """A size of a tensor argument is a symbol in the graph."""
    dynamic: bool = True
    """Sizes may become symbols at a later compile."""
    owner_is_argument: bool = False
    """It is a method of an object that the compiled function was given."""
    passed_on: bool = False
    """The result is an input of the graph, which stays an input."""
    frozen: bool = False
    """Inductor burns in the parameters as well."""
    result: str = "number"
    """``number``, ``tensor``, ``enum``, ``container`` or ``object``."""
    asks_size: bool = False
    """Its code mentions the size of something."""
    asks_tensor: Sequence[str] = ()
    """What its code asks a tensor for that no guard covers, such as ``grad_fn``."""
    unguarded: Sequence[str] = ()
    """State that its code mentions and no guard covers, such as the hooks of a module."""
    closes_over: Sequence[str] = ()
    """Variables of a function that it was given."""
    left_open: Sequence[str] = ()
    """Numbers that it reads and that are guarded only until they have changed."""
    not_reached: Sequence[str] = ()
    """State that its code names and was not read."""
    written_by_program: Sequence[str] = ()
    """Variables that it reads and the compiled program changes."""
    sets: Sequence[str] = ()
    """Variables and attributes that its code sets and others can see."""
    written: bool = False
    """The compiled program writes into the result."""
    own_storage: bool = True
    """The result is not state of the program, in which it may write on purpose."""
    called_again: bool = False
    """The compiled program was called a second time."""
    second_call: str | None = None
    """How its second call differs from eager."""
    second_backward: str | None = None
    """What the backward pass of the second call raised."""
    leaves_graph: bool = False
    """The result, or a view of it, is returned or taken over a graph break."""
    autograd: bool = False
    """The result carries autograd history."""
    mismatch: str | None = None
    """How the first call of the compiled program differs from eager."""
    unasked: str = field(default="")
    """Why no probe was made."""


def judge(fold: Fold, evidence: Evidence) -> tuple[Verdict, str, str]:
    """The verdict on one fold, its reason, and advice."""
    if fold.outcome is Outcome.ERROR:
        return Verdict.UNSOUND, "with the mark the program fails", "take the mark off, or return a plain number"
    if fold.outcome is not Outcome.FOLDED:
        return Verdict.NOT_FOLDED, "", ""
    for rule in (_shown_wrong, _cannot_be_listed, _holds_while):
        found = rule(evidence)
        if found is not None:
            return found
    if not evidence.asked:
        why = evidence.unasked or "it was not asked again"
        return Verdict.CONDITIONAL, f"it reads nothing that changes, but {why}", "allow probes to be sure"
    why = "it answers from its arguments and its code alone, and did so when asked again"
    return Verdict.SOUND, why, "keep the mark"


Finding = tuple[Verdict, str, str]


def _shown_wrong(e: Evidence) -> Finding | None:
    rules = (
        (e.mismatch, "the first call already differs from eager: {}", "take the mark off"),
        (e.repeat, "asked again with the same arguments it answers otherwise: {}", "pass the value in as an argument"),
        (
            e.values,
            "its answer depends on the values of a tensor: {}",
            "compute it in the graph, without the mark",
        ),
        (
            e.sizes if e.symbolic else None,
            "its answer depends on a size that the graph leaves open: {}",
            "use the size itself, without the mark",
        ),
        (
            e.second_backward,
            "its result carries autograd history, and the second backward raised: {}",
            "return a leaf, or compute it in the graph",
        ),
        (
            e.second_call or (None if e.called_again or not e.written else "the program writes into it")
            if e.own_storage
            else None,
            "its result is one object for all calls, and the second call shows it: {}"
            if e.second_call
            else "its result is one object for all calls, and {}",
            "clone it, or make it in the graph",
        ),
        (e.draws and "it draws random numbers" or None, "{}, once for all calls", "pass the number in as an argument"),
    )
    for fact, reason, advice in rules:
        if fact:
            return Verdict.UNSOUND, reason.format(fact), advice
    return None


def _cannot_be_listed(e: Evidence) -> Finding | None:
    if e.traced:
        return None
    return (
        Verdict.OPAQUE,
        "Dynamo cannot trace it, so what it reads cannot be listed" + ("; asked again it agreed" if e.asked else ""),
        "keep the mark only if you know that it never changes",
    )


def _holds_while(e: Evidence) -> Finding | None:
    rules = (
        (
            "Inductor freezing is on" if e.frozen else None,
            "{}: parameters are burned in too, with or without the mark",
            "turn freezing off, or never change a parameter",
        ),
        (e.ambient, "outside of tracing it answers otherwise: {}", "pass the value in as an argument"),
        (
            ", ".join(e.assumptions[:3]) + (", ..." if len(e.assumptions) > 3 else "") if e.assumptions else None,
            "sound " + ("for this instance, " if e.owner_is_argument else "") + "while nothing changes in {}",
            "pass it in as an argument, or compile anew after a change",
        ),
        (
            ", ".join(e.written_by_program[:3]),
            "it may read {}, which the compiled program itself changes: it sees what was there before the call",
            "pass the value in as an argument",
        ),
        (
            ", ".join(e.left_open[:3]),
            "sound until {} has changed once: Dynamo then leaves the number open, and does not fold anew",
            "pass the value in as an argument, or compile with dynamic=False",
        ),
        (
            ", ".join(e.not_reached[:3]),
            "it may read {}, in a branch that this call did not take",
            "pass the value in as an argument",
        ),
        (
            ", ".join(e.unguarded),
            "sound while nothing changes in {}, which nobody guards",
            "pass the value in as an argument if it may change",
        ),
        (
            ", ".join(e.closes_over[:3]),
            "a function that it is given closes over {}, which may come to differ between calls",
            "give it the value instead",
        ),
        (
            e.writes or ", ".join(e.sets[:3]),
            "it changes {}, which now happens once a compile",
            "keep side effects out of it",
        ),
        (e.failed, "asked again it raised {}", "take the mark off, or look why"),
        (
            ", ".join(e.library_calls[:3]) if e.library_calls else None,
            "sound while {} answers as it did, which nobody guards",
            "pass the value in as an argument if it may change",
        ),
        (
            e.sizes if e.dynamic else None,
            "sound while sizes stay: {}; after another size Dynamo leaves the size open",
            "compile with dynamic=False, or use the size itself",
        ),
        (
            "a size" if e.takes_tensor and e.asks_size and (e.dynamic or e.symbolic) else None,
            "sound while sizes stay: it may ask for {}, and after another size Dynamo leaves the size open",
            "compile with dynamic=False, or use the size itself",
        ),
        (
            ", ".join(e.asks_tensor) if e.takes_tensor and e.asks_tensor else None,
            "it asks a tensor for {}, which nobody guards",
            "pass the answer in as an argument",
        ),
        (
            "its values" if e.takes_tensor and e.makes_nodes and not e.passed_on else None,
            "it computes with a tensor argument; probes agreed, but {} are not guarded",
            "compute it in the graph, without the mark",
        ),
        (
            "another one gets this one's value" if e.owner_is_argument else None,
            "it is a method of an object that the program was given: {}",
            "pass the value in as an argument",
        ),
        (
            "writes into its result" if e.written and e.own_storage else None,
            "the program {}, which all calls share; the second call agreed with eager",
            "clone it, or make it in the graph",
        ),
        (
            "autograd history" if e.autograd else None,
            "its result carries {}, which all calls share" + ("; the second backward passed" if e.called_again else ""),
            "return a leaf, or compute it in the graph",
        ),
        (
            "leaves the graph" if e.leaves_graph and e.result != "number" else None,
            "its result {}, shared by all calls",
            "clone it before returning it",
        ),
        (
            "an Enum" if e.result == "enum" else None,
            "its result is {}, which is not identical to itself in the graph",
            "return a plain number or string",
        ),
        (
            "can be changed" if e.result in ("container", "object") else None,
            "its result {} and is shared by all calls",
            "return a tuple or a plain number",
        ),
    )
    for fact, reason, advice in rules:
        if fact:
            return Verdict.CONDITIONAL, reason.format(fact), advice
    return None


_ORDER = (Verdict.NOT_FOLDED, Verdict.SOUND, Verdict.CONDITIONAL, Verdict.OPAQUE, Verdict.UNSOUND)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of them; ``not_folded`` if there is none."""
    return max(verdicts, key=_ORDER.index, default=Verdict.NOT_FOLDED)
