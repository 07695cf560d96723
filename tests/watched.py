"""A compiled function that is watched, for the tests of the watch and of refresh."""

from __future__ import annotations

import weakref

import pytest
import torch

import constviz
from constviz.capture import live

X = torch.ones(3)


@pytest.fixture(autouse=True)
def no_report_of_other_tests(monkeypatch):
    monkeypatch.setattr(live, "_living", weakref.WeakSet())


@pytest.fixture
def watch():
    torch.compiler.reset()
    with constviz.watch() as watch:
        yield watch


def program(read, backend="eager"):
    """A compiled function whose marked function ``scale`` is ``read``, called once and reported."""

    def scale():
        return read()

    def f(x):
        return x * marked()

    marked = torch.compiler.assume_constant_result(scale)
    compiled = torch.compile(f, backend=backend)
    compiled(X)
    return compiled, constviz.compare(compiled, args=(X,))


def said(found):
    return [(b.function, b.assumption.expected, b.assumption.current) for b in found]
