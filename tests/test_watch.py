"""The watch: what it reports and when, what it holds, and that it is off when it is off."""

# ruff: noqa: F811 (fixtures)

from __future__ import annotations

import gc
import types
import weakref

import numpy as np
import pytest
import torch
from watched import X, no_report_of_other_tests, program, said, watch  # noqa: F401

import constviz
from constviz import watching
from constviz.capture import live

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


def test_a_check_runs_no_code_of_the_users(watch):
    ran = []

    class Settings:
        def __init__(self):
            self.scale = 3.0

        def __getattribute__(self, name):
            ran.append(name)
            return object.__getattribute__(self, name)

        def __eq__(self, other):
            ran.append("eq")
            return True

        def __repr__(self):
            ran.append("repr")
            return "Settings()"

    class Plain:
        def __init__(self):
            self.scale = 3.0

        def __eq__(self, other):
            ran.append("eq")
            return True

        __hash__ = None

        def __repr__(self):
            ran.append("repr")
            return "Plain()"

    space = {"settings": Settings(), "plain": Plain()}
    program(lambda: space["plain"].scale)
    program(lambda: space["settings"].scale)
    watch.check()
    ran.clear()
    space["plain"].scale = 4.0
    object.__setattr__(space["settings"], "scale", 5.0)
    assert said(watch.check())[0] == ("f", "3.0", "4.0")
    space["plain"], space["settings"] = space["settings"], space["plain"]
    watch.check()
    space["plain"].scale = Plain()
    watch.check()
    assert ran == []


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
