"""The watch over the measured programs: what went stale is reported if it can be read, what stayed right is not."""

from __future__ import annotations

import random
import types

import numpy as np
import pytest
import torch
from packaging.version import Version

CASES = pytest.importorskip("test_cases", reason="the measured programs are not beside this checkout")

import constviz  # noqa: E402

# fmt: off
UNREADABLE = {
    # a tensor argument, its value or its symbolic size: another call, nothing that was changed
    "09", "10", "16", "101", "120", "128", "129", "137", "181",
    # side effects of the marked function, which happen once a compile
    "18", "46", "96",
    # random numbers and the clock: only a call would tell
    "90", "91",
    # another function or object is passed in, or wraps the marked one
    "80", "191",
    # Dynamo guards nothing of what it reads: there is no assumption to read
    "114", "187",
    # not a compiled function: torch.export and torch.jit.trace hold their own copy
    "133", "134",
    # state of torch that makes the fold wrong while tracing, or Inductor freezes it mark or no mark
    "141", "182",
}
# fmt: on
"""Stale programs whose cause cannot be read without running code, by kind."""

UNGUARDED = {"14", "20", "23"} if Version(torch.__version__).release < (2, 13) else set()
"""Nor on torch 2.11, whose Dynamo takes these as they are, without a guard, mark or no mark."""

REPORTED: dict[str, list[str]] = {}


def watched(name):
    """What the watch says after the program has been compiled, run, compared and changed."""
    found = []

    def build(mark):
        case = CASES.load(f"case_{name}", CASES.CASES / f"{name}.py").build(mark)
        change, case["report"] = case.get("change"), CASES.compared(case)

        def changed():
            found.extend(constviz.watch().check())
            if change is not None:
                change()
            found.extend(constviz.watch().check())

        return {**case, "change": changed}

    random.seed(0)
    np.random.seed(0)
    with constviz.watch():
        CASES.run_case.run_mode(types.SimpleNamespace(build=build), "marked")
    return found


@pytest.mark.parametrize("name", CASES.EXPECTED)
def test_case(name):
    found = watched(name)
    REPORTED[name] = [f"{b.assumption.expression}: {b.assumption.expected} -> {b.assumption.current}" for b in found]
    outcome = CASES.EXPECTED[name]["outcome"]
    if outcome == "right":
        assert not found
    if outcome == "stale":
        assert bool(found) == (name.split("_")[0] not in UNREADABLE | UNGUARDED)


def test_the_table():
    if len(REPORTED) < len(CASES.EXPECTED):
        pytest.skip("needs the whole table")
    print(f"\n{'measured':20}{'programs':>10}{'reported':>10}")
    for outcome in sorted({expected["outcome"] for expected in CASES.EXPECTED.values()}):
        names = [name for name in REPORTED if CASES.EXPECTED[name]["outcome"] == outcome]
        print(f"{outcome:20}{len(names):10}{sum(bool(REPORTED[name]) for name in names):10}")
    for name, found in REPORTED.items():
        if found:
            print(f"  {name:40} {'; '.join(found)}")
