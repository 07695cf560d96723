"""One result for all calls: written in place, returned, or with autograd history.  Verdicts worked out by hand."""

from __future__ import annotations

import pytest
import torch
from programs import mark

import constviz

X = torch.ones(2)


@mark
def pair():
    return torch.tensor([-1.0, 2.0])


@mark
def square():
    return torch.eye(2)


@mark
def empty_list():
    return [1.0]


def verdict_of(fn, *args, **options):
    report = constviz.compare(fn, args=args or (X,), **{"backend": "eager", **options})
    return str(report.verdict), " ".join(fold.reason for fold in report.variants["after"].folds)


def with_out(x):
    c = pair()
    torch.add(c, x, out=c)
    return c + x


def with_foreach(x):
    c = pair()
    torch._foreach_add_([c], 1.0)
    return c + x


def with_inplace_activation(x):
    c = pair()
    torch.nn.functional.leaky_relu(c, 0.1, inplace=True)
    return c + x


def through_a_diagonal(x):
    c = square()
    torch.diagonal(c).add_(1.0)
    return c @ x


def through_setitem_of_a_view(x):
    c = square()
    c.view(-1)[1:3] += 1.0
    return c @ x


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "fn", [with_out, with_foreach, with_inplace_activation, through_a_diagonal, through_setitem_of_a_view]
)
def test_a_write_that_the_second_call_sees_is_unsound(fn, backend):
    # by hand: each call of eager starts from a fresh tensor, each call of the compiled program from the last one's
    verdict, reason = verdict_of(fn, backend=backend)
    assert verdict == "unsound" and "second call" in reason, reason


def test_a_write_that_no_later_call_sees_is_conditional():
    relu = torch.nn.ReLU(inplace=True)  # once negative numbers are gone, they are gone: the result stays right
    verdict, reason = verdict_of(lambda x: x + relu(pair()))
    assert verdict == "conditional" and "writes into its result" in reason, reason


def test_a_list_that_grows_is_conditional():
    def fn(x):
        numbers = empty_list()
        numbers.append(2.0)
        return x + len(numbers)

    assert verdict_of(fn)[0] == "conditional"


@pytest.mark.parametrize(
    "view", [lambda t: t.view(2, 1), lambda t: t.unsqueeze(0), lambda t: t.expand(3, 2), torch.detach]
)
def test_a_view_that_leaves_the_graph_is_conditional(view):
    verdict, reason = verdict_of(lambda x: (x + 1, view(pair())))
    assert verdict == "conditional" and "leaves the graph" in reason, reason


def test_a_result_that_stays_inside_is_sound():
    assert verdict_of(lambda x: x + pair().view(2))[0] == "sound"


def test_autograd_history_that_frees_tensors_is_unsound():
    weight = torch.nn.Parameter(torch.ones(2))

    @mark
    def squares():
        return weight * weight  # a product saves its factors, and the first backward frees them

    verdict, reason = verdict_of(lambda x: (x * squares()).sum())
    assert verdict == "unsound" and "second backward" in reason, reason
    assert weight.grad is None


def test_autograd_history_that_frees_nothing_is_not_called_unsound():
    weight = torch.nn.Parameter(torch.ones(2))

    @mark
    def shifted():
        return weight + 1.0

    assert verdict_of(lambda x: x + shifted())[0] == "conditional"
    assert weight.grad is None


def test_a_result_that_no_longer_is_the_input_is_told():
    @mark
    def same_values(x):
        return x.clone()

    def fn(x):
        y = same_values(x)
        return y, x + 1

    plain = constviz.compare(fn, args=(X,), backend="eager").variants
    assert plain["eager"].aliases == plain["after"].aliases == ()
    shared = constviz.compare(lambda x: (x.view(2), x + 1), args=(X,), backend="eager").variants
    assert shared["eager"].aliases == shared["before"].aliases == shared["after"].aliases == ((0, 0),)
