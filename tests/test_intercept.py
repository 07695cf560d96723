"""Every way to compile is seen from outside: reported, or explained in one line; and nothing stays patched."""

from __future__ import annotations

import functools
import threading
import time

import pytest
import torch
import torch._dynamo
from torch import compile as imported_compile
from torch._dynamo import eval_frame

from constviz.intercept import Interception, nothing_called

ORIGINAL = eval_frame._callback_from_stance
X = torch.ones(3)
partial_compile = functools.partial(torch.compile, backend="eager")


@torch.compiler.assume_constant_result
def scale():
    return 3.0


def function():
    """A new function with code of its own, so that no test meets what another compiled."""
    scope = {"torch": torch, "scale": scale}
    exec("def f(x): return torch.relu(x) * scale()", scope)
    return scope["f"]


class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * scale()


class Decorated(torch.nn.Module):
    @torch.compile(backend="eager")
    def forward(self, x):
        return torch.relu(x) * scale()


class Plain:
    @torch.compile(backend="eager")
    def method(self, x):
        return torch.relu(x) * scale()


def in_place(module, **options):
    module.compile(backend="eager", **options)
    return module


def custom(gm, inputs, **kwargs):
    return gm


WAYS = {
    "torch.compile(f)": lambda: torch.compile(function(), backend="eager"),
    "decorator factory": lambda: torch.compile(backend="eager")(function()),
    "torch.compile(module)": lambda: torch.compile(Layer(), backend="eager"),
    "module.compile()": lambda: in_place(Layer()),
    "decorated forward": Decorated,
    "decorated method": lambda: Plain().method,
    "bound method": lambda: torch.compile(Layer().forward, backend="eager"),
    "torch.compiler.compile": lambda: torch.compiler.compile(function(), backend="eager"),
    "custom backend": lambda: torch.compile(function(), backend=custom),
    "from torch import compile": lambda: imported_compile(function(), backend="eager"),
    "functools.partial": lambda: partial_compile(function()),
    "torch._dynamo.optimize": lambda: torch._dynamo.optimize("eager")(function()),
    "torch._dynamo.optimize as decorator of two": lambda: two_of_one_context()[0],
    "fullgraph": lambda: torch.compile(function(), backend="eager", fullgraph=True),
    "dynamic": lambda: torch.compile(function(), backend="eager", dynamic=True),
    "options": lambda: torch.compile(function(), backend=custom, options={"level": 1}),
    "mode": lambda: torch.compile(function(), backend=custom, mode="reduce-overhead"),
    "compiled twice": lambda: torch.compile(torch.compile(function(), backend="eager"), backend="eager"),
}


def two_of_one_context():
    context = torch._dynamo.optimize("eager")
    return context(function()), context(function())


@pytest.fixture
def interception():
    assert eval_frame._callback_from_stance is ORIGINAL
    found = Interception()
    yield found
    found.close()
    assert eval_frame._callback_from_stance is ORIGINAL
    torch._dynamo.reset()


def reports_of(interception, collection, **options):
    told = []
    reports = list(interception.reports(collection, told.append, **options))
    assert told == []
    return reports


@pytest.mark.parametrize("when", ["compiled inside", "compiled before", "called before"])
@pytest.mark.parametrize("way", WAYS)
def test_a_way_to_compile_is_reported(interception, way, when):
    fn = None if when == "compiled inside" else WAYS[way]()
    if when == "called before":
        fn(X)
    collection = interception.open()
    fn = WAYS[way]() if fn is None else fn
    assert fn(X).tolist() == [3.0] * 3
    fn(X)
    interception.close(collection)
    (report,) = reports_of(interception, collection)
    assert report.folds["function"].tolist() == ["scale"]
    assert report.folds["outcome"].tolist() == ["folded"]


def test_two_functions_of_one_context_are_two(interception):
    collection = interception.open()
    for fn in two_of_one_context():
        fn(X)
    assert len(collection.pending) == 2


@pytest.mark.parametrize("options", [{}, {"mode": "reduce-overhead"}, {"options": {"max_autotune": True}}])
def test_inductor_is_seen_with_its_options(interception, options):
    fn = torch.compile(function(), **options)
    collection = interception.open()
    with torch.compiler.set_stance("force_eager"):  # seen all the same, without a compiler's wait
        fn(X)
    (call,) = collection.pending
    assert call.options.name == "inductor"
    assert bool(call.options.details) == bool(options)


@pytest.mark.parametrize("stance", ["force_eager", "eager_on_recompile", "eager_then_compile"])
def test_a_stance_hides_nothing(interception, stance):
    fn = torch.compile(function(), backend="eager")
    collection = interception.open()
    with torch.compiler.set_stance(stance):
        fn(X)
    (report,) = reports_of(interception, collection)
    assert report.folds["outcome"].tolist() == ["folded"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.compile(function(), backend="eager", disable=True)(X),
        lambda: torch.export.export(Layer(), (X,)),
        lambda: torch.jit.trace(Layer(), X),
        lambda: torch.compile(function(), backend="eager"),  # only compiled, not called
        lambda: torch.compiler.disable(function())(X),
    ],
    ids=["disable=True", "export", "jit.trace", "not called", "compiler.disable"],
)
def test_what_is_not_seen_is_explained(interception, call):
    collection = interception.open()
    call()
    assert not collection.pending
    assert not collection.problems
    text = nothing_called()
    assert "\n" not in text
    for word in ("calling", "disable=True", "torch.export", "torch.jit.trace"):
        assert word in text


def test_dynamo_disabled_from_outside_is_named(interception, monkeypatch):
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    collection = interception.open()
    torch.compile(function(), backend="eager")(X)
    assert not collection.pending
    assert "TORCHDYNAMO_DISABLE=1" in nothing_called()


def test_another_thread_is_seen(interception):
    fn = torch.compile(function(), backend="eager")
    collection = interception.open()
    thread = threading.Thread(target=fn, args=(X,))
    thread.start()
    thread.join()
    (report,) = reports_of(interception, collection)
    assert report.folds["outcome"].tolist() == ["folded"]


def test_the_report_is_of_the_call_as_it_was(interception):
    values = {"scale": 2.0}

    @torch.compiler.assume_constant_result
    def read():
        return values["scale"]

    def f(x):
        return x.add_(1) * read()

    fn, x = torch.compile(f, backend="eager"), torch.ones(2)
    collection = interception.open()
    fn(x)
    values["scale"] = 5.0
    (report,) = reports_of(interception, collection)
    assert report.variants["eager"].output.tolist() == [4.0, 4.0]
    assert values == {"scale": 5.0}


def test_what_the_call_wrote_to_its_input_is_still_there(interception):
    fn, x = torch.compile(lambda x: x.add_(1) * scale(), backend="eager"), torch.ones(2)
    collection = interception.open()
    fn(x)
    reports_of(interception, collection)
    assert x.tolist() == [2.0, 2.0]


def test_collections_nest_and_close_in_any_order(interception):
    f, g = (torch.compile(function(), backend="eager") for _ in "fg")
    outer = interception.open()
    f(X)
    inner = interception.open()
    f(X), g(X)
    assert (len(outer.pending), len(inner.pending)) == (1, 2)
    interception.close(inner)
    f(X), g(X)  # both have their report
    assert len(outer.pending) == 1
    last = interception.open()
    interception.close(outer)
    f(X)
    assert len(last.pending) == 1
    assert interception.is_open
    interception.close(last)
    assert not interception.is_open
    assert eval_frame._callback_from_stance is ORIGINAL


def test_forgetting(interception):
    fn = torch.compile(function(), backend="eager")
    collection = interception.open()
    fn(X)
    fn(X)
    assert len(collection.pending) == interception.count == 1
    interception.forget()
    roll_back = interception.checkpoint()
    fn(X)
    assert len(collection.pending) == 2
    assert (interception.count, interception.names) == (1, ["f"])
    roll_back()
    fn(X)
    assert len(collection.pending) == 3


def test_an_interrupt_among_the_reports_is_told_and_ends_them(interception, monkeypatch):
    fns = [torch.compile(function(), backend="eager") for _ in range(3)]
    collection = interception.open()
    for fn in fns:
        fn(X)

    def interrupted(self, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(collection.pending[0]), "run", interrupted)
    told = []
    assert list(interception.reports(collection, told.append)) == []
    assert told == ["interrupted: no report for f, f, f"]


def test_the_functions_error_is_told(interception):
    def bad(x):
        raise RuntimeError("mine\nand more")

    collection = interception.open()
    with pytest.raises(RuntimeError, match="mine"):
        torch.compile(bad, backend="eager")(X)
    told = []
    assert list(interception.reports(collection, told.append)) == []
    (line,) = told
    assert line.endswith("RuntimeError: mine")


def test_the_users_own_compiled_code_is_still_there(interception):
    compiled = []

    def backend(gm, inputs):
        compiled.append(gm)
        return gm

    fn = torch.compile(function(), backend=backend)
    collection = interception.open()
    fn(X)
    interception.close()
    (_,) = reports_of(interception, collection)
    count = len(compiled)
    fn(X)
    assert len(compiled) == count


def test_an_idle_call_costs_less_than_a_microsecond(interception):
    @torch.compile(backend="eager")
    def idle(x):
        return x + 1

    idle(X)

    def block():
        start = time.thread_time_ns()
        for _ in range(40):
            idle(X)
        return (time.thread_time_ns() - start) / 40

    plain, watched = [], []
    for _ in range(3000):  # short and side by side, until some blocks of both were undisturbed
        plain.append(block())
        collection = interception.open()
        idle(X)
        watched.append(block())
        interception.close(collection)
        if len(plain) >= 200 and min(watched) - min(plain) < 1000:
            break
    assert min(watched) - min(plain) < 1000
