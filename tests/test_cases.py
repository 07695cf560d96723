"""The measured programs: each goes through compare without harm, and each fold's outcome is the measured one."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

import constviz

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
if not CASES.is_dir():
    pytest.skip(f"the measured programs are not beside this checkout ({CASES.name})", allow_module_level=True)

# fmt: off
SELF_CONTAINED = {
    "03", "81", "97", "98", "103", "105", "107", "115", "117", "118", "119", "149", "151", "152", "154", "161", "170",
    "174", "185", "186",
}
# fmt: on
"""Programs whose marked function, by its source, reads only its arguments, its code and guarded global state."""

VERDICTS: dict[str, str] = {}

EXPECTED = json.loads((CASES / "expected.json").read_text())


def load(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


run_case = load("run_case", CASES / "run_case.py")


def compared(case):
    args = case["before"]
    args = tuple(args() if callable(args) else args)
    return constviz.compare(
        case["fn"], args=args, kwargs=case.get("kw_before"), **{"backend": "eager", **case.get("opts", {})}
    )


def run(build):
    """The results of a marked program's calls, as the measurements write them."""
    random.seed(0)
    np.random.seed(0)
    result = run_case.run_mode(types.SimpleNamespace(build=build), "marked")
    # Dynamo numbers the frames it compiles through the whole process
    return [result.get(phase, "").split("Guard fail reason")[0] for phase in ("before", "after", "third")]


@pytest.mark.parametrize("name", EXPECTED)
def test_case(name):
    reports = []

    def fresh():
        return load(f"case_{name}", CASES / f"{name}.py")  # tracing leaves names in a module's globals

    def build(mark):
        case = fresh().build(mark)
        reports.append(compared(case))
        return case

    undisturbed, disturbed = run(fresh().build), run(build)
    assert disturbed == undisturbed
    outcomes = {str(fold.outcome) for fold in reports[0].variants["after"].folds}
    assert outcomes == {EXPECTED[name]["first_call"]}
    VERDICTS[name] = str(reports[0].verdict)
    if EXPECTED[name]["outcome"] in ("stale", "wrong_first_call", "error"):
        assert VERDICTS[name] != "sound"
    if EXPECTED[name]["outcome"] == "right":
        assert VERDICTS[name] != "unsound"


def test_most_of_what_reads_nothing_outside_is_sound():
    """At least 85 % of the programs that stay right and read only guarded arguments, their code and global state."""
    self_contained = [
        name for name in VERDICTS if EXPECTED[name]["outcome"] == "right" and name.split("_")[0] in SELF_CONTAINED
    ]
    if len(self_contained) < len(SELF_CONTAINED):
        pytest.skip("needs the verdicts of the whole table")
    print_table()
    sound = [name for name in self_contained if VERDICTS[name] == "sound"]
    assert len(sound) >= 0.85 * len(self_contained), set(self_contained) - set(sound)


def print_table():
    outcomes = sorted({expected["outcome"] for expected in EXPECTED.values()})
    verdicts = ["sound", "conditional", "opaque", "unsound", "not_folded"]
    print(f"\n{'measured':20}" + "".join(f"{verdict:>13}" for verdict in verdicts))
    for outcome in outcomes:
        names = [name for name in VERDICTS if EXPECTED[name]["outcome"] == outcome]
        counts = (sum(VERDICTS[name] == verdict for name in names) for verdict in verdicts)
        print(f"{outcome:20}" + "".join(f"{count:13}" for count in counts))


def test_the_cases_are_all_there():
    assert len(EXPECTED) == len(list(itertools.chain(CASES.glob("[0-9]*.py")))) == 114
    assert torch.__version__.split("+")[0].startswith("2.")
