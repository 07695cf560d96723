"""refresh(): one function is compiled anew, with all that hangs on it, and no other."""

# ruff: noqa: F811 (fixtures)

from __future__ import annotations

import pytest
import torch
from watched import X, no_report_of_other_tests, program, said, watch  # noqa: F401

import constviz


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
