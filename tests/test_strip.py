"""The strip of graphs: each graph break is between the graphs it parts, also where no operation is between two."""

from __future__ import annotations

import pytest
import torch
from planned import plan_of

import constviz
from constviz.display.strip import between, side
from constviz.model import Graph, GraphBreak, Location


def two_at_once(x):
    x = torch.relu(x)
    torch._dynamo.graph_break()
    print(end="")
    return x * 2


def before_all(x):
    print(end="")
    torch._dynamo.graph_break()
    x = torch.relu(x)
    torch._dynamo.graph_break()
    return x * 2


def the_same_three_times(x):
    torch._dynamo.graph_break()
    torch._dynamo.graph_break()
    x = torch.relu(x)
    torch._dynamo.graph_break()
    return x * 2


def lines_of(fn, told):
    return [int(place.rpartition(":")[2]) - fn.__code__.co_firstlineno for _, place in told]


@pytest.mark.parametrize(
    ("fn", "expected"), [(two_at_once, [[], [2, 3], []]), (before_all, [[1, 2], [4], []]),
                         (the_same_three_times, [[1, 2], [4], []])]
)  # fmt: skip
def test_every_break_of_a_program_is_told_in_its_place(fn, expected):
    made = constviz.compare(fn, args=(torch.ones(3),), backend="eager").comparison
    for name in ("before", "after"):
        told = side(made.variants[name], plan_of(made), name, "dynamo")
        found = [told["breaks"], *(graph["breaks"] for graph in told["graphs"])]
        assert [lines_of(fn, breaks) for breaks in found] == expected
        reasons = [reason for breaks in found for reason, _ in breaks]
        assert reasons == [cut.reason for cut in made.variants[name].graph_breaks]


def test_a_break_of_a_function_around_is_not_taken_for_the_graph_s_own():
    places = [Location("f.py", line, name) for line, name in ((9, "wrapper"), (5, "outer"), (2, "inner"))]
    breaks = [GraphBreak("the print", place) for place in places]
    graphs = (Graph(0, "inner", (), break_reason="the print"), Graph(1, "inner (resumed)", ()))
    assert between(graphs, breaks) == [breaks[:2], breaks[2:], []]


def test_a_graph_without_a_recorded_break_keeps_its_own_reason():
    graphs = (Graph(0, "f", (), break_reason="the print"), Graph(1, "f", ()))
    assert between(graphs, ()) == [[], [GraphBreak("the print")], []]


def test_no_break_is_lost_or_told_twice():
    places = [Location("f.py", line) for line in range(5)]
    breaks = [GraphBreak(reason, place) for reason, place in zip("abaca", places, strict=True)]
    graphs = [
        Graph(0, "f", (), break_reason="b"),
        Graph(1, "f", (), location=places[1], break_reason="c"),
        Graph(2, "f", ()),
    ]
    assert [[cut.location.line for cut in cuts] for cuts in between(graphs, breaks)] == [[0], [1, 2], [3, 4], []]
