"""What a fold rests on though no dropped guard says so.  Each program was run by plain torch.compile: it goes stale."""

from __future__ import annotations

import functools

import pytest
import torch
import torch.nn.functional as F
from judged import judged
from programs import mark

X = torch.ones(2)
RATE = 2.5
CONFIG = {"big": 2.0, "eps": 2.0}


class Context:
    mode = "a"

    def __init__(self):
        self.mode = "a"
        self.table = {"mode": "a"}

    def set(self, mode):
        self.mode = mode

    def update(self, mode):
        self.table.update(mode=mode)


CONTEXT = Context()


class Holder:
    def __init__(self, value):
        self.value = value

    @mark
    def ratio(self, other):
        return other.value * 2.0


A, B = Holder(1.0), Holder(2.0)


# -- numbers that the rest of the program reads, too -------------------------------------------------------------


@mark
def value_of(c):
    return c.value


@mark
def rate():
    return RATE


def with_an_argument(x, c):
    return x * value_of(c) + c.value


def with_a_global(x):
    return x * rate() + RATE


def with_a_closure():
    n = 3

    @mark
    def read():
        return n

    return lambda x: x * read() + n


def test_a_number_that_is_guarded_until_it_has_changed_once():
    for fn, args in ((with_an_argument, (X, Holder(3))), (with_a_global, (X,)), (with_a_closure(), (X,))):
        _, verdict, reason = judged(fn, *args)
        assert verdict == "conditional" and "has changed once" in reason, reason
    assert judged(with_an_argument, X, Holder(3), dynamic=False)[1] == "sound"


def test_that_it_really_goes_stale():
    compiled, holder = torch.compile(with_an_argument, backend="eager"), Holder(3)
    results = []
    for holder.value in (3, 4, 9):
        results.append(compiled(X, holder)[0].item())
    assert results[:2] == [6.0, 8.0] and results[2] == 13.0  # eager: 18


# -- a program that sets what its fold reads ---------------------------------------------------------------------


@mark
def by_mode():
    return 1.0 if CONTEXT.mode == "a" else 2.0


@mark
def by_table():
    return 1.0 if CONTEXT.table["mode"] == "a" else 2.0


def by_a_method(x, mode):
    CONTEXT.set(mode)
    return x * by_mode()


def by_an_alias(x, mode):
    table = CONTEXT.table
    table["mode"] = mode
    return x * by_table()


def by_a_method_of_an_attribute(x, mode):
    CONTEXT.update(mode)
    return x * by_table()


@pytest.mark.parametrize("fn", [by_a_method, by_an_alias, by_a_method_of_an_attribute])
def test_what_the_program_changes_by_another_name(fn):
    _, verdict, reason = judged(fn, X, "a")
    assert verdict != "sound", reason
    assert CONTEXT.mode == CONTEXT.table["mode"] == "a"


# -- what the first call does not show ---------------------------------------------------------------------------


def test_a_branch_that_was_not_taken():
    @mark
    def gain(mode):
        return CONFIG["big"] if mode == "eval" else 1.0

    _, verdict, reason = judged(lambda x, mode: x * gain(mode), X, "train")
    assert verdict == "conditional" and "CONFIG" in reason


def test_a_closure_tensor_that_the_program_takes_too():
    weight = torch.ones(2)

    @mark
    def doubled():
        return weight * 2

    _, verdict, reason = judged(lambda x: x * doubled() + weight.shape[0])
    assert verdict == "conditional", reason


def test_state_of_torch_by_an_import_of_its_own():
    @mark
    def flag():
        import torch.backends.cudnn as cudnn

        return 2.0 if cudnn.benchmark else 1.0

    assert judged(lambda x: x * flag())[1] == "conditional"


def test_a_library_that_is_asked_for_what_it_lacks():
    @mark
    def fast():
        return 2.0 if hasattr(F, "no_such_function") else 1.0

    assert judged(lambda x: x * fast())[1] == "conditional"


def test_another_instance_of_the_methods_class():
    _, verdict, reason = judged(lambda x: x * A.ratio(B))
    assert verdict == "conditional" and "value" in reason


def test_a_size_asked_by_a_function_that_was_given():
    def is_big(t):
        return t.shape[-1] > 1_000_000

    ask = mark(lambda x, fn: 2.0 if fn(x) else 1.0)
    assert judged(lambda x: x * ask(x, is_big), torch.ones(2, 4))[1] == "conditional"


def test_a_mark_under_the_name_of_a_torch_function():
    @functools.wraps(F.softplus)
    def eps():
        return CONFIG["eps"]

    marked = mark(eps)
    assert judged(lambda x: x * marked())[1] == "conditional"
