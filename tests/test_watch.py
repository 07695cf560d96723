"""The watch: what it reports and when, what it holds, and that it is off when it is off."""

from __future__ import annotations

import gc
import types
import weakref

import numpy as np
import pytest
import torch
from shells import Shell

import constviz
from constviz import watching
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


# -- what is reported --------------------------------------------------------------------------------------------


def test_each_break_once_and_again_after_it_held(watch):
    settings = {"scale": 3.0}
    _, report = program(lambda: settings["scale"])
    assert watch.check() == []
    settings["scale"] = 5.0
    (broken,) = watch.check()
    assert broken.assumption.expression == "settings['scale']"
    assert said([broken]) == [("f", "3.0", "5.0")]
    assert watch.check() == []
    settings["scale"] = 6.0
    assert watch.check() == []
    settings["scale"] = 3.0
    assert watch.check() == []
    settings["scale"] = 7.0
    assert said(watch.check()) == [("f", "3.0", "7.0")]
    assert [a.current for a in report.live.stale()] == ["7.0"]


def test_the_text_names_the_function_what_was_read_and_how_to_refresh(watch):
    settings = {"scale": 3.0, "shift": 1}
    program(lambda: settings["scale"] + settings["shift"])
    settings.update(scale=5.0, shift=2)
    assert watching.text(watch.check()).splitlines() == [
        "constviz: f goes on with 2 old values",
        "  scale read settings['scale'] = 3.0; it is 5.0 now",
        "  scale read settings['shift'] = 1; it is 2 now",
        "  to compile it anew: constviz.refresh(f)",
    ]


def test_reports_made_before_are_watched_while_they_exist():
    torch.compiler.reset()
    settings = {"scale": 3.0}
    compiled, report = program(lambda: settings["scale"])
    settings["scale"] = 5.0
    with constviz.watch() as watch:
        assert said(watch.check()) == [("f", "3.0", "5.0")]
    del report
    gc.collect()
    with constviz.watch() as watch:
        assert watch.functions == []
    assert compiled is not None


def test_two_reports_of_one_function_say_it_once(watch):
    settings = {"scale": 3.0}
    compiled, _ = program(lambda: settings["scale"])
    constviz.compare(compiled, args=(torch.ones(5),))
    settings["scale"] = 5.0
    assert len(watch.check()) == 1


def test_a_later_report_does_not_hide_what_its_code_rests_on(watch):
    settings = {"scale": 3.0}
    compiled, _ = program(lambda: settings["scale"])
    settings["scale"] = 5.0
    constviz.compare(compiled, args=(X,))
    assert said(watch.check()) == [("f", "3.0", "5.0")]


def test_what_is_not_compiled_yet_is_not_stale(watch):
    settings = {"scale": 3.0}

    @torch.compiler.assume_constant_result
    def scale():
        return settings["scale"]

    def f(x):
        return x * scale()

    constviz.compare(f, args=(X,), backend="eager")
    settings["scale"] = 5.0
    assert watch.check() == []
    torch.compile(f, backend="eager")(X)
    assert watch.check() == []
    settings["scale"] = 3.0
    assert said(watch.check()) == [("f", "5.0", "3.0")]


def test_compiled_and_changed_between_two_checks(watch):
    settings = {"scale": 3.0}

    @torch.compiler.assume_constant_result
    def scale():
        return settings["scale"]

    compiled = torch.compile(lambda x: x * scale(), backend="eager")
    constviz.compare(compiled, args=(X,))
    settings["scale"] = 4.0
    compiled(X)
    settings["scale"] = 5.0
    compiled(X)
    assert [b.assumption.expected for b in watch.check()] == ["4.0"]


# -- no false alarm ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        3.0,
        "mean",
        (1, (2.0, "x")),
        torch.tensor([2.0]),
        np.float32(2.0),
        frozenset({1, 2}),
        float("nan"),
        torch.float64,
    ],
    ids=str,
)
def test_an_equal_object_is_no_change(watch, value):
    import copy

    settings = {"value": value}
    program(lambda: settings["value"] and 2.0 if not isinstance(value, torch.Tensor) else settings["value"])
    settings["value"] = copy.deepcopy(value) if not isinstance(value, tuple) else (1, (float("2"), "".join("x")))
    assert watch.check() == []


def test_an_equal_container_is_no_change(watch):
    space = types.SimpleNamespace(settings={"scale": 3.0, "sizes": [1, 2]})
    program(lambda: space.settings["scale"] * space.settings["sizes"][1])
    space.settings = {"scale": 3.0, "sizes": [1, 2]}
    assert watch.check() == []
    space.settings = {"scale": 3.0, "sizes": [1, 7]}
    assert len(watch.check()) == 1


@pytest.mark.parametrize("again", [False, True])
def test_after_a_reset_there_is_nothing_stale(watch, again):
    settings = {"scale": 3.0}
    compiled, report = program(lambda: settings["scale"])
    settings["scale"] = 5.0
    torch.compiler.reset()
    if again:
        compiled(X)
    assert watch.check() == [] and report.live.stale() == ()
    compiled(X)
    settings["scale"] = 6.0
    assert said(watch.check()) == [("f", "5.0", "6.0")]


def test_a_kept_guard_that_fails_too(watch):
    settings, other = {"scale": 3.0}, {"shift": "a"}

    @torch.compiler.assume_constant_result
    def scale():
        return settings["scale"]

    compiled = torch.compile(lambda x: x * scale() + (1 if other["shift"] == "a" else 2), backend="eager")
    compiled(X)
    constviz.compare(compiled, args=(X,))
    settings["scale"], other["shift"] = 5.0, "b"
    assert watch.check() == []
    assert compiled(X).tolist() == [7.0] * 3
    assert watch.check() == []
    other["shift"] = "a"  # the first program again, with its old value
    assert compiled(X).tolist() == [4.0] * 3
    assert [b.assumption.expected for b in watch.check()] == ["3.0"]


def test_under_force_eager(watch):
    settings = {"scale": 3.0}
    program(lambda: settings["scale"])
    settings["scale"] = 5.0
    with torch.compiler.set_stance("force_eager"):
        assert watch.check() == []
    assert len(watch.check()) == 1


def test_state_that_the_marked_function_changes_itself(watch):
    settings = {"calls": 0, "scale": 3.0}

    def read():
        settings["calls"] += 1
        return settings["scale"]

    program(read)
    settings["calls"] += 1
    assert watch.check() == []
    settings["scale"] = 5.0
    assert said(watch.check()) == [("f", "3.0", "5.0")]


# -- refreshing --------------------------------------------------------------------------------------------------


def test_refresh_compiles_this_function_anew_and_no_other(watch):
    settings, compiles = {"scale": 3.0}, []

    def counting(gm, inputs):
        compiles.append(gm)
        return gm.forward

    compiled, _ = program(lambda: settings["scale"], counting)
    other = torch.compile(lambda x: x + 1, backend=counting)
    other(X)
    settings["scale"] = 5.0
    assert len(watch.check()) == 1
    before = len(compiles)
    constviz.refresh(compiled)
    assert watch.check() == []
    assert compiled(X).tolist() == [5.0] * 3
    assert len(compiles) == before + 1
    other(X)
    assert len(compiles) == before + 1
    assert watch.check() == []
    settings["scale"] = 6.0
    assert said(watch.check()) == [("f", "5.0", "6.0")]


def test_refresh_reaches_what_is_resumed_and_called_after_a_graph_break(watch):
    settings = {"scale": 3.0}

    @torch.compiler.assume_constant_result
    def scale():
        return settings["scale"]

    def callee(x):
        torch._dynamo.graph_break()
        return x * scale()

    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        return callee(y * scale())

    compiled = torch.compile(f, backend="eager")
    compiled(X)
    report = constviz.compare(compiled, args=(X,))
    settings["scale"] = 5.0
    assert compiled(X).tolist() == [18.0] * 3
    constviz.refresh(f)
    assert compiled(X).tolist() == [50.0] * 3
    assert report.live.stale() == ()


def test_refresh_takes_modules_and_methods():
    class Module(torch.nn.Module):
        scale = 3.0

        @torch.compiler.assume_constant_result
        def marked(self):
            return self.scale

        def forward(self, x):
            return x * self.marked()

    module = Module()
    for fn, compiled in (
        (module, torch.compile(module, backend="eager")),
        (module.forward, torch.compile(module.forward, backend="eager")),
    ):
        module.scale = 3.0
        constviz.refresh(fn)
        assert compiled(X).tolist() == [3.0] * 3
        module.scale = 5.0
        constviz.refresh(compiled)
        assert compiled(X).tolist() == [5.0] * 3
    with pytest.raises(TypeError, match="refresh needs"):
        constviz.refresh(len)


# -- what it holds -----------------------------------------------------------------------------------------------


def test_the_watch_keeps_no_model_and_no_input_alive(watch):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.weight = 3.0, torch.nn.Parameter(torch.ones(3))

        @torch.compiler.assume_constant_result
        def marked(self):
            return self.weight * self.scale

        def forward(self, x):
            return x * self.marked()

    module, x = Module(), torch.ones(3)
    compiled = torch.compile(module, backend="eager")
    compiled(x)
    constviz.compare(compiled, args=(x,))
    assert watch.functions
    module.scale = 4.0
    assert [b.assumption.current for b in watch.check()] == ["4.0"]
    gone = weakref.ref(module), weakref.ref(x)
    del module, compiled, x
    torch.compiler.reset()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert watch.check() == [] and watch.functions == []


def test_nothing_is_registered_when_it_is_off():
    from torch._dynamo.callback import callback_handler

    def registered():
        return list(live.LISTENERS), list(callback_handler.start_callbacks)

    before = registered()
    with constviz.watch() as watch:
        assert constviz.watch() is watch and watching.active() is watch
        assert registered() != before
    assert registered() == before and watching.active() is None
    assert repr(watch) == "<constviz.watch: off>" and watch.check() == []
    watch.stop()


# -- in a shell --------------------------------------------------------------------------------------------------

CELL = """\
import torch
SETTINGS = {"scale": 3.0}
@torch.compiler.assume_constant_result
def scale(): return SETTINGS["scale"]
@torch.compile(backend="eager")
def f(x): return x * scale()
"""
BROKEN = """\
constviz: f goes on with an old value
  scale read SETTINGS['scale'] = 3.0; it is 5.0 now
  to compile it anew: constviz.refresh(f)
"""


@pytest.fixture
def shell():
    shell = Shell()
    shell.run(CELL)
    yield shell
    shell.close()


def test_a_cell_that_breaks_an_assumption_says_so(shell):
    hooks = {name: len(found) for name, found in shell.ip.events.callbacks.items()}
    assert shell.run("%constviz watch").lines == ["constviz: watch is on, for functions reported from now on"]
    shell.run("%%constfold -q\nf(torch.ones(1));")
    assert "watch           on, after each cell: f" in shell.run("%constviz status").stdout
    assert shell.run("1 + 1;").stdout == ""
    assert shell.run("SETTINGS['scale'] = 5.0").stdout == BROKEN
    assert shell.run("1 + 1;").stdout == ""
    shell.run("SETTINGS['scale'] = 3.0")
    ran = shell.run("SETTINGS['scale'] = 5.0\n1 / 0")
    assert ran.error == "ZeroDivisionError" and ran.stdout.endswith(BROKEN)
    assert shell.run("import constviz; constviz.refresh(f); f(torch.ones(1)).item()").result == "5.0"
    assert shell.run("%constviz unwatch").lines == ["constviz: watch is off"]
    assert shell.run("SETTINGS['scale'] = 8.0").stdout == ""
    assert {name: len(found) for name, found in shell.ip.events.callbacks.items()} == hooks


def test_a_cell_that_breaks_what_it_folded(shell):
    shell.run("%constviz watch")
    ran = shell.run("%%constfold -q --no-probe\nf(torch.ones(1));\nSETTINGS['scale'] = 5.0")
    assert ran.stdout == BROKEN


def test_unloading_switches_it_off(shell):
    before = len(shell.ip.events.callbacks["post_run_cell"])
    shell.run("%constviz watch")
    constviz.unload_ipython_extension(shell.ip)
    assert watching.active() is None
    assert len(shell.ip.events.callbacks["post_run_cell"]) < before


def test_no_probe_asks_nothing_again(shell, monkeypatch):
    from constviz.capture import evidence

    asked, probe = [], evidence.probe
    monkeypatch.setattr(evidence, "probe", lambda raw, *rest: asked.append(raw) or probe(raw, *rest))
    for cell in ("%constfold {} -q f(torch.ones(1))", "%%constfold {} -q\nf(torch.ones(1));"):
        for option in ("", "--no-probe"):
            asked.clear()
            assert shell.run(cell.format(option)).error is None
            assert bool(asked) != bool(option)
