"""What stands around a fold: checks in other frames, and a program that changes what a marked function reads."""

from __future__ import annotations

import types

import pytest
import torch
from judged import judged
from programs import mark

X = torch.ones(2)
STATE = {"v": 2.0}
LOG: list[int] = []
SEEN: set[int] = set()
LEVEL = 2.0
ITEMS = iter([1.0, 2.0, 3.0, 4.0])
HOOKED = torch.nn.ReLU()


@mark
def value():
    return STATE["v"]


def used_before_the_break(x):
    y = x * value()
    torch._dynamo.graph_break()
    return y + STATE["v"]


def used_after_the_break(x):
    y = x + STATE["v"]
    torch._dynamo.graph_break()
    return y * value()


def callee(y):
    torch._dynamo.graph_break()
    return y + STATE["v"]


def with_a_callee(x):
    return callee(x * value())


def of_a_closure():
    level = 2.0

    @mark
    def read():
        return level

    def fn(x):
        y = x * read()
        torch._dynamo.graph_break()
        return y + level

    return fn


@pytest.mark.parametrize(
    "fn", [used_before_the_break, used_after_the_break, with_a_callee, of_a_closure()],
    ids=["before", "after", "callee", "closure"],
)  # fmt: skip
def test_a_check_in_another_frame_does_not_cover_the_fold(fn):
    # the frame that holds the fold runs unchecked; the other one is compiled anew, and sees the new value
    report, verdict, reason = judged(fn)
    assert verdict == "conditional", reason
    assert report.assumptions["expression"].tolist() in (["STATE['v']"], ["level"])


def test_such_a_fold_really_goes_stale():
    compiled = torch.compile(used_before_the_break, backend="eager")
    assert compiled(X).tolist() == [4.0, 4.0]
    try:
        STATE["v"] = 5.0
        assert compiled(X).tolist() == [7.0, 7.0]  # 1 * 2 + 5; eager has 1 * 5 + 5
    finally:
        STATE["v"] = 2.0


def writes_an_item(x, n):
    STATE["v"] = n
    return x * value()


def updates(x, n):
    STATE.update(v=n)
    return x * value()


def writes_a_global(x, n):
    global LEVEL
    LEVEL = n
    return x * level_of()


@mark
def level_of():
    return LEVEL


@pytest.mark.parametrize("fn", [writes_an_item, updates, writes_a_global])
def test_a_program_that_changes_what_its_fold_reads(fn):
    _, verdict, reason = judged(fn, X, 2.0)
    assert verdict != "sound", reason
    assert (STATE["v"], LEVEL) == (2.0, 2.0)


@mark
def logs():
    LOG.append(1)
    return 2.0


@mark
def notes():
    SEEN.add(len(SEEN))
    return 2.0


@pytest.mark.parametrize("fn", [lambda x: x * logs() + len(LOG), lambda x: x * notes() + len(SEEN)])
def test_a_change_by_a_method_is_a_side_effect_though_the_caller_guards_it(fn):
    _, verdict, reason = judged(fn)
    assert verdict != "sound", reason
    assert not LOG and not SEEN


@pytest.mark.parametrize(
    "body",
    [
        lambda x: 1.0 if x.__len__() < 1_000_000 else 2.0,
        lambda x: 1.0 if getattr(x, "sha" + "pe"[:2])[0] < 1_000_000 else 2.0,
        lambda x: getattr(x, "tag", 5.0),
        lambda x: 1.0 if hasattr(x, "tag") else 2.0,
    ],
)
def test_a_tensor_asked_by_another_name(body):
    ask = mark(body)
    assert judged(lambda x: x * ask(x))[1] == "conditional"


def test_a_name_that_is_an_argument():
    ask = mark(lambda x, name: 1.0 if getattr(x, name) is None else 2.0)
    assert judged(lambda x: x * ask(x, "grad_fn"))[1] == "conditional"


def test_which_argument_is_passed_on_may_depend_on_a_size():
    choose = mark(lambda a, b: a if a.shape[0] < 4 else b)
    assert judged(lambda x, y: choose(x, y) * 2, torch.ones(5), torch.zeros(5))[1] == "conditional"
    first = mark(lambda a, b: a)
    assert judged(lambda x, y: first(x, y) * 2 + y, torch.ones(5), torch.zeros(5))[1] == "sound"


def test_a_function_that_closes_over_a_number_of_the_call():
    call = mark(lambda g: g(2))

    def fn(x, n):
        return x * call(lambda a: a * n)

    _, verdict, reason = judged(fn, X, 3)
    assert verdict == "conditional" and "n has changed" in reason
    compiled = torch.compile(fn, backend="eager")
    assert compiled(X, 3).tolist() == [6.0, 6.0]
    with pytest.raises(Exception, match="closure cell"):  # by then n is a symbol
        compiled(X, 4)


def test_hooks_are_guarded_nowhere():
    count = mark(lambda: float(len(HOOKED._forward_hooks)))
    assert judged(lambda x: HOOKED(x) * (count() + 1))[1] != "sound"


def test_a_module_whose_getattr_raises():
    lazy = types.ModuleType("lazy")
    table = {"v": 2.0}
    lazy.__getattr__ = lambda name: table[name]
    read = mark(lambda: lazy.v)
    assert judged(lambda x: x * read())[1] != "sound"


def test_an_iterator_is_set_back():
    take = mark(lambda: next(ITEMS))
    _, verdict, reason = judged(lambda x: x * take())
    assert verdict == "unsound" and "1.0 became 2.0" in reason
    assert next(ITEMS) == 1.0


def test_what_only_looks_like_a_change():
    @mark
    def table(n):
        numbers = sorted(range(n), reverse=True)
        numbers.append(n)
        return torch.add(torch.ones(3), 1.0) * numbers.pop()

    assert judged(lambda x: x * table(2), torch.ones(3))[1] == "sound"


def test_only_what_names_a_setting_is_said_to_read_it():
    @mark
    def setting(name):
        return STATE[name]

    @mark
    def ones(n):
        return torch.ones(n)

    report, _, _ = judged(lambda x: x * setting("v") + ones(2))
    verdicts = {str(f.result.type): str(f.verdict) for f in report.variants["after"].folds}
    assert verdicts == {"float": "conditional", "Tensor": "sound"}
