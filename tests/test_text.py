"""The text of a report: worked out by hand, and the same in every run."""

from __future__ import annotations

from dataclasses import replace

from sample import BREAK, CALL, FOLD, FOLDER, comparison, hostile

from constviz.display.text import text
from constviz.model import Assumption, Comparison, Failure, Outcome, Variant, Verdict

EXPECTED = """\
constviz: Net (net.py:8), before and after assume_constant_result
torch.compile: backend=eager

                   before         after
graphs                  1             1
graph breaks            1 ->          0
ops                     3 ->          1
constants               0 ->          1
constant bytes          0 ->         32
guards                  1 ->          0

1 call of a marked function
  folded: net.py:9 table(n=4) = [1, 2, 3, 4] (int64[4]) (Tensor, 32 bytes)
      called once

graph breaks of before
  net.py:9: Unsupported: print
      hint: Remove the print.

note: look here"""


def test_whole():
    assert text(comparison(notes=("look here",))) == EXPECTED


def test_no_time_and_no_path():
    made = comparison()
    slower = {name: replace(v, compile_s=9.0) for name, v in made.variants.items()}
    assert text(replace(made, variants=slower)) == text(made)
    assert FOLDER not in text(made)


def test_what_was_not_folded_and_what_failed():
    fold = replace(FOLD, outcome=Outcome.GRAPH_BREAK, result=None, reason="the argument is a tensor")
    after = Variant("after", folds=(fold,), error=Failure("TypeError", "bad\nsecond line", CALL))
    shown = text(Comparison("f", {"after": after}))
    assert "  graph_break: net.py:9 table(n=4)\n      the argument is a tensor" in shown
    assert "after failed: TypeError: bad" in shown
    assert "second line" not in shown


def test_the_overall_verdict_is_near_the_top():
    sound, wrong = replace(FOLD, verdict=Verdict.SOUND), replace(FOLD, verdict=Verdict.UNSOUND)

    def told(*folds):
        lines = text(Comparison("f", {"after": Variant("after", folds=folds)})).splitlines()
        return [line for line in lines[:3] if line.startswith("verdict")]

    assert told(sound) == ["verdict: sound"]
    assert told(sound, wrong, sound) == ["verdict: unsound (1 unsound, 2 sound)"]
    assert told() == ["verdict: not_folded"]
    assert told(FOLD) == []


def test_assumptions_and_leads():
    rows = (
        Assumption("scale", "CFG['k']", "CONSTANT_MATCH", "3.0"),
        Assumption("load", "PATH", "lead", "'/secret'"),
        Assumption("load", "open()", "lead", ""),
    )
    shown = text(Comparison("f", {"after": Variant("after", folds=(FOLD,))}, assumptions=rows))
    assert "the compiled program assumes, and does not check\n  CFG['k'] stays 3.0 (read by scale)" in shown
    assert "the bytecode names\n  PATH, open() (in load)" in shown
    assert "secret" not in shown


def test_nothing():
    shown = text(Comparison("f", {}))
    assert shown.splitlines()[0] == "constviz: f, before and after assume_constant_result"
    assert "no call of a marked function" in shown


def test_long_lists_are_cut():
    after = Variant("after", folds=(FOLD,) * 100, graph_breaks=(BREAK,) * 100)
    shown = text(Comparison("f", {"before": after, "after": after}))
    assert len(shown.splitlines()) < 70
    assert "and 88 more: see report.folds" in shown
    assert "and 94 more: see report.graph_breaks" in shown


def test_hostile_text_stays_on_its_line():
    shown = text(hostile())
    assert not any(ord(c) < 32 and c != "\n" for c in shown)
    assert max(map(len, shown.splitlines())) <= 330
