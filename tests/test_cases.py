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


def test_the_cases_are_all_there():
    assert len(EXPECTED) == len(list(itertools.chain(CASES.glob("[0-9]*.py")))) == 114
    assert torch.__version__.split("+")[0].startswith("2.")
