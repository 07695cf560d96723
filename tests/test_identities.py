"""Which function a name stands for, what class an object has, what is not there: stale without a changed value."""

from __future__ import annotations

import enum
import math
import os
import types

import pytest
import torch
from programs import mark

import constviz

X = torch.ones(2)


class Fast:
    speed = 1.0


class Slow:
    pass


class Mode(enum.Enum):
    ADD = 1


def one():
    return 1.0


def two():
    return 2.0


def other_one():
    return 1.0


HANDLER = one
KIND = Fast
ENGINE = Slow()
EMPTY: dict = {}
REGISTRY = {"act": one}
BAG = types.SimpleNamespace()
plugin = types.ModuleType("plugin")
plugin.act = one


class Owner:
    def act(self):
        return 2.0


OWNER = Owner()


def found(body):
    read = mark(body)
    return constviz.compare(lambda x: x * read(), args=(X,), backend="eager")


def or_default():
    try:
        return EMPTY["k"]
    except KeyError:
        return 2.0


@pytest.mark.parametrize(
    ("body", "change", "expression"),
    [
        (lambda: HANDLER(), lambda m: m.setitem(globals(), "HANDLER", two), "HANDLER"),
        (lambda: one(), lambda m: m.setitem(globals(), "one", two), "one"),
        (lambda: one(), lambda m: m.setattr(one, "__code__", two.__code__), "one"),
        (lambda: REGISTRY["act"](), lambda m: m.setitem(REGISTRY, "act", two), "REGISTRY['act']"),
        (lambda: plugin.act(), lambda m: m.setattr(plugin, "act", two), "plugin.act"),
        (lambda: 1.0 if KIND is Fast else 2.0, lambda m: m.setitem(globals(), "KIND", Slow), "KIND"),
        (lambda: 1.0 if isinstance(ENGINE, Fast) else 2.0, lambda m: m.setitem(globals(), "ENGINE", Fast()), "ENGINE"),
        (lambda: getattr(BAG, "k", 2.0), lambda m: m.setattr(BAG, "k", 9.0, raising=False), "hasattr(BAG, 'k')"),
        (lambda: OWNER.act(), lambda m: m.setattr(OWNER, "act", one), "'act' in vars(OWNER)"),
        (or_default, lambda m: m.setitem(EMPTY, "k", 9.0), "list(EMPTY)"),
        (lambda: float(os.getenv("CONSTVIZ_X", "1")), lambda m: m.setenv("CONSTVIZ_X", "2"), "len(os.environ)"),
    ],
    ids=[
        "alias", "helper", "code", "registry", "module", "class", "type", "attribute", "method", "key", "environ",
    ],
)  # fmt: skip
def test_what_goes_stale_is_an_assumption_that_the_change_breaks(body, change, expression, monkeypatch):
    report = found(body)
    assert report.verdict == "conditional"
    (row,) = [row for row in report.assumptions.itertuples() if row.expression == expression]
    assert row.holds
    change(monkeypatch)
    (row,) = [row for row in report.assumptions.itertuples() if row.expression == expression]
    assert not row.holds, row


def test_closure_variables_are_the_users_whatever_they_hold():
    act, engine, layer = math.sin, Slow(), torch.nn.Identity()

    def swap():
        nonlocal act, engine, layer
        act, engine, layer = math.cos, Fast(), torch.nn.Dropout()

    reports = [
        found(lambda: act(1.0)),
        found(lambda: 1.0 if isinstance(engine, Fast) else 2.0),
        found(lambda: 1.0 if layer._forward_hooks else 2.0),
    ]
    assert [str(report.verdict) for report in reports] == ["conditional"] * 3
    assert [name in report.assumptions["expression"].tolist() for name, report in zip(
        ("act", "engine", "layer"), reports, strict=True
    )] == [True] * 3  # fmt: skip
    swap()
    assert not any(report.assumptions["holds"].all() for report in reports)


def test_the_same_code_written_anew_still_holds(monkeypatch):
    report = found(lambda: HANDLER())
    monkeypatch.setitem(globals(), "HANDLER", other_one)
    assert report.assumptions["holds"].tolist() == [True]
    assert report.verdict == "conditional"


@pytest.mark.parametrize(
    "body",
    [
        lambda: math.sqrt(4.0),
        lambda: float(torch.Size([2, 3]).numel()),
        lambda: float(max(1, 2)),
        lambda: 1.0 if issubclass(Mode, Mode) else 2.0,
        lambda: torch.nn.functional.__name__.count("t") * 1.0,
    ],
    ids=["stdlib", "torch", "builtin", "enum", "module"],
)
def test_a_librarys_own_and_an_enum_are_no_assumptions(body):
    report = found(body)
    assert report.verdict == "sound" and report.assumptions.empty, report


def test_a_value_read_through_a_class_says_more_than_the_class():
    assert found(lambda: Fast.speed).assumptions["expression"].tolist() == ["Fast.speed"]


def test_what_the_caller_uses_is_not_laid_at_the_marks_door():
    @mark
    def four():
        return 4.0

    report = constviz.compare(lambda x: x * four() * HANDLER(), args=(X,), backend="eager")
    assert report.verdict == "sound" and report.assumptions.empty


def test_an_object_that_makes_up_its_attributes_is_not_asked():
    class Lazy:
        def __init__(self):
            self.table = {"k": 2.0}

        def __getattr__(self, name):
            return self.__dict__["table"][name]

    lazy = Lazy()
    assert found(lambda: lazy.k).assumptions["expression"].tolist() == ["lazy.table['k']"]
