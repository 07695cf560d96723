"""What the bytecode of a function that Dynamo cannot trace names, and how it is told from what was proved."""

from __future__ import annotations

import os

import torch
from programs import mark

import constviz
from constviz.capture.leads import library_calls, names_read

X = torch.ones(2)
CFG = {"k": 2.0}
LEVEL = 3


class Reader:
    def __init__(self):
        self.descriptor = 0

    @mark
    def bound(self):
        return float(os.get_inheritable(self.descriptor) >= 0) * CFG["k"]

    def __call__(self, x):
        return x * self.bound()


def untraceable():
    place = os.curdir

    @mark
    def links():
        return os.stat(place).st_nlink * 0 + LEVEL

    return links


def compared(fn):
    return constviz.compare(fn, args=(X,), backend="eager")


def test_globals_closure_cells_and_library_calls_are_leads():
    links = untraceable()
    report = compared(lambda x: x * links())
    assert report.verdict == "opaque"
    rows = report.assumptions.values.tolist()
    assert [row[:4] for row in rows] == [
        ["links", "place", "lead", "'.'"],
        ["links", "LEVEL", "lead", "3"],
        ["links", "os.stat()", "lead", ""],
    ]
    assert report.assumptions["holds"].isna().all()


def test_attributes_of_self_are_leads():
    report = compared(Reader().__call__)
    names = report.assumptions["expression"].tolist()
    assert names == ["self.descriptor", "CFG", "os.get_inheritable()"]
    # the first was traced, up to the call that could not be: it can be read again
    assert report.assumptions["holds"].tolist()[0] is True and report.assumptions["holds"][1:].isna().all()


def test_the_text_names_them_without_values():
    links = untraceable()
    lines = str(compared(lambda x: x * links())).splitlines()
    start = lines.index("not traced, so what is read is not known; the bytecode names")
    assert lines[start + 1] == "  place, LEVEL, os.stat() (in links)"
    assert "stays" not in "\n".join(lines)


def test_a_traced_function_has_none():
    read = mark(lambda: CFG["k"])
    assert compared(lambda x: x * read()).assumptions["guard"].tolist() == ["CONSTANT_MATCH"]


def test_they_are_saved(tmp_path):
    links = untraceable()
    report = compared(lambda x: x * links())
    report.save(tmp_path / "r.json")
    assert constviz.load(tmp_path / "r.json").assumptions.equals(report.assumptions)


def test_reading_bytecode_runs_nothing():
    class Loud:
        @property
        def value(self):
            raise AssertionError("was run")

        def __getattr__(self, name):
            raise AssertionError("was asked")

        def __call__(self):
            return 2

    loud = Loud()

    def fn():
        return loud.value + loud.missing + loud()

    assert [name for name, _ in names_read(fn)] == ["loud.value", "loud"]
    assert library_calls(fn) == ["loud"]


def test_code_is_not_what_it_reads():
    def fn():
        return os.path.join(str(LEVEL), os.sep)

    assert names_read(fn) == [("LEVEL", "3"), ("os.sep", "'/'")]
