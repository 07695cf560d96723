"""The magics in a real IPython shell: a cell and one call, as they go well and as they fail."""

from __future__ import annotations

import re
import sys

import pytest
from shell.patched import patchable

import constviz

pytest_plugins = ["shell.loaded"]


def test_the_cell_runs_as_usual_and_the_report_follows(shell):
    ran = shell.run("%%constfold --name report\nprint('mine')\ny = f(x)\ny.sum().item()")
    assert ran.stdout.startswith("mine\n")
    assert ran.result == "12.0"
    assert len(ran.reports) == 1
    report = shell.ip.user_ns["report"]
    assert isinstance(report, constviz.FoldReport)
    assert report.folds["function"].tolist() == ["scale", "shift"]


def test_every_compiled_function_of_the_cell_is_reported_once_in_order(shell):
    ran = shell.run("%%constfold --name several\ng(x); f(x); g(x);")
    assert len(ran.reports) == 2
    assert [set(r.folds["function"]) for r in shell.ip.user_ns["several"]] == [{"scale"}, {"scale", "shift"}]


def test_a_semicolon_hides_the_result(shell):
    assert "Out[" not in shell.run("%%constfold -q\nf(x);").stdout
    assert "Out[" in shell.run("%%constfold -q\nf(x)").stdout


def test_a_cell_that_raises_keeps_its_traceback_and_still_reports(shell):
    ran = shell.run("%%constfold\nf(x)\nboom(x)")
    assert ran.error == "ValueError"
    assert "line 3\n" in ran.traceback
    assert "----> 3 boom(x)" in ran.traceback
    assert "constviz" not in ran.traceback
    assert len(ran.reports) == 1


@pytest.mark.parametrize(
    "body", ["boom(x)", "y = (\n    f(x),\n    boom(x),\n)", "def q():\n    boom(x)\nq()", "\n\nf(x)\nboom(x)"]
)
def test_a_traceback_is_that_of_the_plain_cell(shell, body):
    plain, ran = shell.run(f"# %%constfold -q\n{body}"), shell.run(f"%%constfold -q\n{body}")
    assert ran.error == "ValueError"
    assert re.sub(r"In\[\d+\]", "In", ran.traceback) == re.sub(r"In\[\d+\]", "In", plain.traceback)
    assert "begin(" not in ran.traceback


def test_a_syntax_error_is_the_users_own(shell):
    ran = shell.run("%%constfold\nf(x\n")
    assert ran.error == "SyntaxError"
    assert "line 2" in ran.traceback
    assert "constfold" not in ran.traceback
    assert not ran.reports


def test_an_interrupt_ends_the_session_without_a_report(shell):
    before = patchable()
    ran = shell.run("%%constfold\nf(x)\nraise KeyboardInterrupt")
    assert ran.error == "KeyboardInterrupt"
    assert not ran.reports
    assert patchable() == before
    assert len(shell.run("%%constfold\nf(x);").reports) == 1


def test_nothing_compiled_was_called(shell):
    ran = shell.run("%%constfold\nx + 1;")
    (line,) = ran.lines
    assert line.startswith("constviz: no torch.compile'd function was called in this cell")
    assert "%constfold f(x)" in line


def test_a_function_that_fails_eagerly_costs_one_line(shell):
    shell.run("@torch.compile(backend='eager')\ndef bad(x): raise RuntimeError('mine')")
    ran = shell.run("%%constfold\ntry: bad(x)\nexcept RuntimeError: print('caught')")
    assert ran.error is None
    assert ran.stdout.splitlines() == ["caught", "constviz: no report for bad: RuntimeError: mine"]


def test_a_mistake_of_ours_does_not_break_the_cell(shell, monkeypatch):
    def broken(call):
        raise LookupError("ours")

    monkeypatch.setattr(sys.modules["constviz.comparison"], "prepare", broken)
    ran = shell.run("%%constfold\nf(x).sum().item()")
    assert (ran.error, ran.result) == (None, "12.0")
    assert ran.lines == ["constviz: no report for f: LookupError: ours"]


@pytest.mark.parametrize(
    ("error", "line"), [(LookupError("ours"), "LookupError: ours"), (KeyboardInterrupt(), "inter")]
)
def test_a_report_that_cannot_be_shown_does_not_break_the_cell(shell, monkeypatch, error, line):
    def broken(self, **options):
        raise error

    monkeypatch.setattr(constviz.FoldReport, "_repr_mimebundle_", broken)
    ran = shell.run("%%constfold\nf(x).sum().item()")
    assert (ran.error, ran.result, len(ran.lines)) == (None, "12.0", 1)
    assert line in ran.lines[0]


def test_a_cell_inside_a_cell(shell):
    ran = shell.run("%%constfold --name outer\nf(x)\nget_ipython().run_cell('%%constfold --name inner\\ng(x);')\nf(x);")
    assert ran.error is None
    assert len(ran.reports) == 2
    assert set(shell.ip.user_ns["inner"].folds["function"]) == {"scale"}
    assert set(shell.ip.user_ns["outer"].folds["function"]) == {"scale", "shift"}


@pytest.mark.parametrize(
    "cell",
    [
        "%%time\n%%constfold\nf(x);",
        "%%constfold\n%%time\nf(x);",
        "%%constfold\n\n%%capture seen\nf(x); print('hidden')",
        "%%constfold\n%%constfold -q\nf(x); g(x);\n",
        "%%constfold\n# a comment first\n\nf(x);",
        "%%constfold\nfrom __future__ import annotations\nf(x);",
        "get_ipython().run_cell_magic('constfold', '', 'f(x);')",
    ],
)
def test_among_other_magics(shell, cell):
    ran = shell.run(cell)
    assert ran.error is None
    assert len(ran.reports) == (0 if "-q" in cell else 1)
    assert "hidden" not in ran.stdout


def test_captured_by_another_magic(shell):
    ran = shell.run("%%capture seen\n%%constfold\ny = f(x)")
    assert not ran.reports
    assert len(shell.ip.user_ns["seen"].outputs) == 1


@pytest.mark.parametrize("inner", ["%%time\n", "from __future__ import annotations\n"])
def test_errors_among_other_magics(shell, inner):
    ran = shell.run(f"%%constfold\n{inner}f(x)\nboom(x)")
    assert ran.error == "ValueError"
    assert ran.traceback.count("from boom") == 2  # the line of code, and the message
    assert "cells.py" not in ran.traceback
    assert "magics.py" not in ran.traceback


@pytest.mark.parametrize(
    "call", ["f(x)", "f(*[x])", "f(x=x);", "f(**{'x': x})", "f( torch.ones(2,  3) )", "(lambda t: t * scale())(x)"]
)
def test_one_call(shell, call):
    ran = shell.run(f"%constfold --backend eager -q --name one {call}")
    assert ran.error is None, ran.traceback
    assert "scale" in set(shell.ip.user_ns["one"].folds["function"])


def test_one_call_is_shown_and_keeps_quotes_spaces_and_dashes_apart(shell):
    shell.run("def named(x, name): return x * len(name) * scale()")
    ran = shell.run("""%constfold --backend eager --name r named(x, "--fold  {x} $y")""")
    assert len(ran.reports) == 1
    assert shell.ip.user_ns["r"].variants["eager"].output.tolist() == [42.0] * 3


def test_one_call_with_local_variables(shell):
    ran = shell.run(
        "def local():\n    here = torch.ones(4)\n    get_ipython().run_line_magic('constfold', 'f(here)')\nlocal()"
    )
    assert ran.error is None
    assert len(ran.reports) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "%constfold takes a call, such as %constfold f(x)"),
        ("f", "not 'f'"),
        ("x + 1", "not 'x + 1'"),
        ("f(", "was never closed"),
        ("x()", "needs a function"),
        ("3(x)", "needs a function"),
        ("f(x, x)", "does not take these arguments"),
        ("--wrong f(x)", "--wrong"),
        ("--name 1x f(x)", "'1x'"),
        ("--stage wrong f(x)", "'wrong'"),
        ("--backend wrong f(x)", "no such backend"),
        ("--fold", "expected one argument"),
    ],
)
def test_a_bad_line_is_one_usage_error(shell, line, says):
    ran = shell.run(f"%constfold {line}")
    assert ran.error == "UsageError"
    text = (ran.stdout + ran.stderr).strip()
    assert text.startswith("UsageError: ")
    assert says in text
    assert "\n" not in text or "argument" in text


def test_a_call_that_raises_shows_the_users_traceback(shell):
    ran = shell.run("%constfold boom(x)")
    assert ran.error == "ValueError"
    assert "in boom(x)" in ran.traceback
    assert "comparison.py" not in ran.traceback
    assert "magics.py" not in ran.traceback


def test_an_argument_that_raises(shell):
    ran = shell.run("%constfold f(missing)")
    assert ran.error == "NameError"
