"""A verdict on a program, with the report it is from and the reasons for it."""

from __future__ import annotations

import torch

import constviz

X = torch.ones(2)


def judged(fn, *args, **options):
    """The report of a program, its verdict, and why.

    Without arguments the program is given two ones.
    """
    options = {"backend": "eager", **options}
    report = constviz.compare(fn, args=args or (X,), **options)
    folds = report.variants["after"].folds
    return report, str(report.verdict), " ".join(fold.reason for fold in folds)
