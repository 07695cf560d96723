"""Small marked programs that several tests look at."""

from __future__ import annotations

import torch
from torch.compiler import assume_constant_result as mark

CFG = {"scale": 3.0, "axis": 1}


@mark
def scale():
    return CFG["scale"]


@mark
def axis():
    return CFG["axis"]


@mark
def table():
    return torch.arange(3.0)


def scaled(x):
    return torch.relu(x) * scale()


def two_marks(x):
    return (x * scale()).sum(dim=axis())


def broken(x):
    y = x * scale()
    torch._dynamo.graph_break()
    return y + axis()


def two_tables(x):
    return x + table() + (x * table())


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.factor = 2.0

    @mark
    def gain(self):
        return self.factor

    def forward(self, x):
        return self.norm(self.linear(x)) * self.gain()
