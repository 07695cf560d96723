"""The rules of judge, one at a time, on evidence made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample import FOLD

from constviz.analysis.verdicts import Evidence, judge, worst
from constviz.model import Outcome, Verdict

GOOD = Evidence(traced=True, asked=True, makes_nodes=False)


def verdict(**facts):
    found, reason, advice = judge(FOLD, replace(GOOD, **facts))
    return found, reason, advice


def test_sound_is_said_when_it_was_traced_asked_again_and_nothing_speaks_against_it():
    assert FOLD.outcome is Outcome.FOLDED
    found, reason, advice = verdict()
    assert found is Verdict.SOUND and "asked again" in reason and advice == "keep the mark"


def test_no_evidence_is_not_sound():
    assert judge(FOLD, Evidence())[0] is Verdict.OPAQUE
    assert judge(FOLD, Evidence(traced=True))[0] is Verdict.CONDITIONAL


@pytest.mark.parametrize("outcome", [Outcome.INERT, Outcome.GRAPH_BREAK, Outcome.FRAME_SKIPPED])
def test_what_was_not_folded(outcome):
    assert judge(replace(FOLD, outcome=outcome), GOOD) == (Verdict.NOT_FOLDED, "", "")


def test_an_error_is_unsound():
    assert judge(replace(FOLD, outcome=Outcome.ERROR), GOOD)[0] is Verdict.UNSOUND


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"mismatch": "1 became 2"}, "first call already differs from eager: 1 became 2"),
        ({"repeat": "1 became 2"}, "asked again with the same arguments"),
        ({"values": "1 became 2"}, "values of a tensor: 1 became 2"),
        ({"sizes": "2 became 3", "symbolic": True}, "size that the graph leaves open"),
        ({"second_backward": "freed", "autograd": True}, "second backward raised: freed"),
        ({"written": True}, "one object for all calls"),
        ({"second_call": "1 became 2", "called_again": True}, "the second call shows it: 1 became 2"),
        ({"draws": True}, "draws random numbers"),
    ],
)
def test_what_is_shown_wrong_is_unsound_whatever_else_is_known(facts, words):
    for more in ({}, {"traced": False}, {"assumptions": ["CFG"]}, {"asked": False}):
        found, reason, advice = verdict(**facts, **more)
        assert found is Verdict.UNSOUND and words in reason and advice


def test_untraced_is_opaque_and_says_whether_it_was_asked_again():
    found, reason, _ = verdict(traced=False)
    assert found is Verdict.OPAQUE and "cannot be listed; asked again it agreed" in reason
    assert "agreed" not in verdict(traced=False, asked=False)[1]
    assert verdict(traced=False, assumptions=["CFG"])[0] is Verdict.OPAQUE


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"assumptions": ["CFG['k']"]}, "while nothing changes in CFG['k']"),
        ({"assumptions": list("abcde")}, "a, b, c, ..."),
        ({"assumptions": ["self.k"], "owner_is_argument": True}, "for this instance, while"),
        ({"owner_is_argument": True}, "another one gets this one's value"),
        ({"library_calls": ["time.time"]}, "while time.time answers as it did"),
        ({"sizes": "2 became 3"}, "while sizes stay: 2 became 3"),
        ({"takes_tensor": True, "makes_nodes": True}, "its values are not guarded"),
        ({"takes_tensor": True, "asks_size": True}, "it may ask for a size"),
        ({"takes_tensor": True, "asks_tensor": ["grad_fn"]}, "asks a tensor for grad_fn"),
        ({"sets": ["SEEN"]}, "it changes SEEN"),
        ({"written_by_program": ["STATE"]}, "STATE, which the compiled program itself changes"),
        ({"left_open": ["c.n"]}, "until c.n has changed once"),
        ({"not_reached": ["CFG"]}, "CFG, in a branch that this call did not take"),
        ({"unguarded": ["_forward_hooks"]}, "nothing changes in _forward_hooks"),
        ({"closes_over": ["n"]}, "closes over n"),
        ({"written": True, "called_again": True, "result": "tensor"}, "writes into its result"),
        ({"autograd": True, "result": "tensor"}, "autograd history"),
        ({"frozen": True}, "freezing"),
        ({"ambient": "1 became 2"}, "outside of tracing it answers otherwise"),
        ({"writes": "CALLS (0 became 1)"}, "it changes CALLS"),
        ({"failed": "ValueError: no"}, "it raised ValueError: no"),
        ({"leaves_graph": True, "result": "tensor"}, "leaves the graph"),
        ({"result": "enum"}, "an Enum"),
        ({"result": "container"}, "can be changed"),
        ({"result": "object"}, "can be changed"),
        ({"asked": False, "unasked": "probes were turned off"}, "probes were turned off"),
    ],
)
def test_what_holds_only_while_something_stays_is_conditional(facts, words):
    found, reason, advice = verdict(**facts)
    assert found is Verdict.CONDITIONAL and words in reason and advice


@pytest.mark.parametrize(
    "facts",
    [
        {"takes_tensor": True},  # it computes nothing on it: dtype, device, number of dimensions
        {"takes_tensor": True, "makes_nodes": True, "passed_on": True},
        {"sizes": "2 became 3", "dynamic": False},  # another size is compiled anew
        {"leaves_graph": True},  # a number has no identity to lose
        {"result": "tensor"},
        {"symbolic": True},
        {"takes_tensor": True, "asks_size": True, "dynamic": False},
        {"asks_size": True, "asks_tensor": ["grad_fn"]},  # of tensors that it makes itself
        {"written": True, "own_storage": False, "called_again": True},  # the program's own state, written on purpose
    ],
)
def test_what_the_kept_guards_cover_is_sound(facts):
    assert verdict(**facts)[0] is Verdict.SOUND


def test_the_worst_verdict():
    order = [Verdict.NOT_FOLDED, Verdict.SOUND, Verdict.CONDITIONAL, Verdict.OPAQUE, Verdict.UNSOUND]
    for i, found in enumerate(order):
        assert worst(order[: i + 1]) is found
    assert worst([]) is Verdict.NOT_FOLDED
