"""Choosing marks by name: short, qualified or with a line, and what is said of a name that none has."""

from __future__ import annotations

import warnings

import pytest
import torch
from desk import DONE, Desk
from programs import mark
from sample import comparison

import constviz

pytest_plugins = ["shell.loaded"]
X = torch.ones(2)


def maker(value):
    @mark
    def scale():
        return value

    return scale


@mark
def scale():
    return 5.0


other = maker(2.0)


def both(x):
    return x * scale() + other()


def folded(fold):
    report = constviz.compare(both, args=(X,), backend="eager", fold=fold)
    return report.folds["result"].tolist()


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("scale", ["5.0", "2.0"]),
        (f"{__name__}.scale", ["5.0", "2.0"]),
        (f"scale@test_naming.py:{scale.__code__.co_firstlineno}", ["5.0"]),
        (f"scale@test_naming.py:{other.__code__.co_firstlineno}", ["2.0"]),
    ],
)
def test_one_of_two_marks_with_one_name(name, results):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert folded([name]) == results


def test_a_wrong_name_is_a_warning_where_it_was_typed():
    with pytest.warns(
        UserWarning, match=r"No marked function named scael was called, .*: did you mean scale\?"
    ) as seen:
        constviz.compare(both, args=(X,), backend="eager", fold=["scael"])
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match=r"No marked function named zzz was called, but scale@test_naming"):
        assert folded("zzz") == []


@pytest.mark.parametrize("cell", ["%%constfold -q --fold scael,shift\nf(x);", "%constfold -q --fold scael,shift f(x)"])
def test_a_wrong_name_in_a_magic_is_told_once(shell, cell):
    ran = shell.run(cell)
    assert (ran.error, ran.stderr) == (None, "")
    told = "constviz: --fold: No marked function named scael was called, but scale and shift were: did you mean scale?"
    assert ran.lines == [told]


def test_a_name_need_only_be_called_by_one_function_of_the_cell(shell):
    assert shell.run("%%constfold -q --fold shift\nf(x); g(x);").lines == []


def test_the_diagram_takes_a_name_with_its_line():
    asked = []
    desk = Desk(comparison(), refold=lambda names, progress: asked.append(names) or comparison(literal=True))
    assert desk.ask("fold", names=["table@net.py:2"]) == DONE
    assert "error" in desk.ask("fold", names=["table@net.py:3"])
    assert asked == [("table@net.py:2",)]
