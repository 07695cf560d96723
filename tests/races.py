"""Programs to time, and the short way to do it."""

from __future__ import annotations

import torch
from programs import mark

import constviz

X = torch.ones(8, 64)
TABLE = torch.linspace(0, 1, 64)


@mark
def table():
    return TABLE.cos().sin().cos().sin().cos().sin().cos().sin()


def f(x):
    return torch.relu(x) * table()


def unmarked(x):
    return torch.relu(x) * TABLE.cos().sin().cos().sin().cos().sin().cos().sin()


def other(x):
    return torch.relu(x) * 7.0


def report_of(fn, *args, **options):
    return constviz.compare(fn, args=args or (X,), **{"backend": "eager", **options})


def timed(fn, *args, against=None, budget_s=0.1, **options):
    return report_of(fn, *args).timings(against, budget_s=budget_s, **options)
