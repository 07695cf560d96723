"""``%constviz watch`` in a real IPython shell: said under the cell that did it, once, and off when it is off."""

from __future__ import annotations

import pytest
from shells import Shell
from watched import no_report_of_other_tests  # noqa: F401

import constviz
from constviz import watching

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
