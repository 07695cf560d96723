"""The magics in a real IPython shell: options, bad input, and a shell that is left as it was."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from shells import SETUP, Shell

import constviz
from constviz.capture.seam import PRIVATE_NAMES


@pytest.fixture(scope="module")
def _shell():
    shell = Shell()
    assert shell.run(SETUP).error is None
    shell.run("%reload_ext constviz")
    yield shell
    shell.close()


@pytest.fixture
def shell(_shell):
    constviz.load_ipython_extension(_shell.ip)
    return _shell


def patchable():
    """Everything of PyTorch that might have been patched, and IPython's own lists."""
    import torch
    import torch._dynamo

    found = {"torch.compile": torch.compile, "Module.compile": torch.nn.Module.compile}
    for name in PRIVATE_NAMES:
        parts, value = name.split(".")[1:], torch
        for part in parts:
            value = getattr(value, part, None)
        if callable(value):
            found[name] = value
    return found


def hooks(ip):
    return {
        "transforms": list(ip.input_transformers_cleanup),
        "events": {name: list(found) for name, found in ip.events.callbacks.items()},
        "magics": {kind: set(found) for kind, found in ip.magics_manager.magics.items()},
        "matchers": list(ip.Completer.custom_matchers),
        "registry": set(ip.magics_manager.registry),
        "attributes": set(vars(ip)),
    }


# -- a cell ------------------------------------------------------------------------------------------------------


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


# -- one call ----------------------------------------------------------------------------------------------------


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


# -- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%constfold --wrong\nf(x)", "--wrong"),
        ("%%constfold f\nf(x)", "'f'"),
        ("%%constfold --stage wrong\nf(x)", "wrong"),
        ("%%constfold\n", "empty"),
        ("%%constfold\n# only a comment\n\n", "empty"),
    ],
)
def test_a_bad_cell_is_one_usage_error_and_does_not_run(shell, cell, says):
    ran = shell.run(cell)
    assert ran.error == "UsageError"
    text = (ran.stdout + ran.stderr).strip()
    assert text.startswith("UsageError: ")
    assert says in text
    assert not shell.ip.find_cell_magic("constfold").__self__.interception.is_open


@pytest.mark.parametrize("option", ["--stage post_grad", "--against g,boom"])
def test_options_that_are_not_there_yet_say_so(shell, option):
    for cell in (f"%%constfold {option}\nf(x);", f"%constfold {option} f(x)"):
        ran = shell.run(cell)
        assert len(ran.reports) == 1
        (line,) = ran.lines
        assert option.split()[0] in line
        assert "not there yet" in line


def test_the_other_options_are_accepted_silently(shell):
    ran = shell.run("%%constfold --stage dynamo --no-time --quiet\nf(x);")
    assert (ran.stdout, ran.reports) == ("", [])


def test_fold_selects(shell):
    shell.run("%%constfold -q --fold scale --name chosen\nf(x);")
    assert shell.ip.user_ns["chosen"].folds["function"].tolist() == ["scale"]


def test_backend_by_name_and_by_variable(shell):
    shell.run("used = []\ndef mine(gm, inputs):\n    used.append(gm)\n    return gm")
    shell.run("%%constfold -q --backend mine\nf(x);")
    assert len(shell.ip.user_ns["used"]) == 2  # before and after
    assert shell.run("%%constfold -q --backend aot_eager --name r\nf(x);").error is None
    assert shell.ip.user_ns["r"].comparison.options["backend"] == "aot_eager"


def test_save(shell, tmp_path):
    path = tmp_path / "with space.json"
    ran = shell.run(f"%%constfold -q --save '{path}'\nf(x); g(x);")
    assert ran.lines == [f"constviz: saved {path}", f"constviz: saved {tmp_path / 'with space-2.json'}"]
    assert set(constviz.load(path).folds["function"]) == {"scale", "shift"}
    ran = shell.run(f"%constfold -q --save {tmp_path}/none/x.json f(x)")
    assert (ran.error, len(ran.lines)) == (None, 1)
    assert "could not save" in ran.lines[0]


# -- %constviz ---------------------------------------------------------------------------------------------------


def test_on_reports_each_function_once_until_reset(shell):
    ran = shell.run("%constviz on\nf(x);")
    assert len(ran.reports) == 1
    assert not shell.run("f(x);").reports
    assert len(shell.run("g(x); f(x);").reports) == 1
    status = shell.run("%constviz status").stdout
    assert "functions seen  2 (f, g)" in status
    assert "every cell is watched" in status
    shell.run("%constviz reset")
    assert len(shell.run("f(x);").reports) == 1
    assert len(shell.run("%%constfold\nf(x);").reports) == 1
    assert not shell.run("f(x);").reports
    assert not shell.run("x + 1;").lines
    assert shell.run("%constviz off").lines
    assert not shell.run("%constviz reset\nf(x);").reports


def test_on_after_an_error_and_after_an_interrupt(shell):
    shell.run("%constviz on")
    assert len(shell.run("f(x)\nboom(x)").reports) == 1
    assert not shell.run("g(x)\nraise KeyboardInterrupt").reports
    assert len(shell.run("g(x); f(x);").reports) == 1  # g was not reported yet, f was
    shell.run("%constviz off")


def test_on_and_off_inside_a_cell_that_is_watched(shell):
    before = patchable()
    assert len(shell.run("%%constfold\nget_ipython().run_line_magic('constviz', 'on')\nf(x);").reports) == 1
    assert len(shell.run("%%constfold\nget_ipython().run_line_magic('constviz', 'off')\nf(x);").reports) == 1
    assert patchable() == before


def test_status_says_what_there_is(shell):
    import torch

    text = shell.run("%constviz").stdout
    assert torch.__version__ in text
    assert "nothing is patched" in text
    assert "disable=True" in text
    assert "watch           off" in text
    assert shell.run("%constviz wrong").error == "UsageError"


# -- completion and help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        ("%%constfold --no", ["--no-time", "--no-probe"]),
        ("%constfold --na", ["--name"]),
        ("%%constfold --stage post", ["post_grad"]),
        ("%%constfold --fold s", ["scale", "shift"]),
        ("%%constfold --fold scale,s", ["shift"]),
        ("%constfold -q --fold sc", ["scale"]),
        ("%constfold -q boo", ["boom"]),
        ("report = %constfold --qu", ["--quiet"]),
        ("%constviz o", ["on", "off"]),
    ],
)
def test_completion(shell, typed, offers):
    start = max(typed.rfind(" "), typed.rfind(",")) + 1
    assert shell.complete(typed) == [typed[:start] + offer for offer in offers]


def test_completion_of_the_code_is_left_alone(shell):
    assert "%%constfold -q\nboom" in shell.complete("%%constfold -q\nboo")
    assert "%constfold f(boom" in shell.complete("%constfold f(boo")
    assert shell.complete("%%constfold --save ") != []


def test_a_cell_typed_in_a_terminal_ends_with_an_empty_line(shell):
    check = shell.ip.input_transformer_manager.check_complete
    assert check("%%constfold\nf(x)")[0] == "incomplete"
    assert check("%%constfold\nf(x)\n\n")[0] == "complete"


def test_help_names_every_option(shell):
    text = shell.ip.find_cell_magic("constfold").__doc__
    for option in (
        "--stage", "--fold", "--against", "--no-time", "--no-probe", "--name", "--save", "--backend", "--quiet",
    ):  # fmt: skip
        assert option in text
    assert "before and after" in text


# -- loading and unloading ---------------------------------------------------------------------------------------


def test_unload_leaves_the_shell_as_it_was(shell):
    constviz.unload_ipython_extension(shell.ip)
    before = hooks(shell.ip), patchable()
    for _ in range(3):
        constviz.load_ipython_extension(shell.ip)
    shell.run("%reload_ext constviz")
    shell.run("%constviz on\nf(x);")
    assert sum("constviz" in getattr(t, "__module__", "") for t in shell.ip.input_transformers_cleanup) == 1
    constviz.unload_ipython_extension(shell.ip)
    assert (hooks(shell.ip), patchable()) == before
    constviz.unload_ipython_extension(shell.ip)


@pytest.mark.parametrize("how", ["%unload_ext constviz", "%reload_ext constviz"])
def test_unload_inside_a_running_cell(shell, how):
    constviz.unload_ipython_extension(shell.ip)
    before = hooks(shell.ip), patchable()
    constviz.load_ipython_extension(shell.ip)
    ran = shell.run(f"%%constfold\nf(x)\n{how}\nf(x);")
    assert ran.error is None
    assert not ran.reports
    shell.ip.extension_manager.loaded.add("constviz")
    if "reload" in how:
        assert len(shell.run("%%constfold\nf(x);").reports) == 1
        constviz.unload_ipython_extension(shell.ip)
    assert (hooks(shell.ip), patchable()) == before


def test_nothing_is_patched_outside_a_cell(shell):
    constviz.unload_ipython_extension(shell.ip)
    before = patchable()
    constviz.load_ipython_extension(shell.ip)
    assert patchable() == before
    for cell in ("f(x);", "f(x)\n1/0", "raise KeyboardInterrupt", "boom(x", "%%time\n1/0"):
        shell.run(f"%%constfold\n{cell}")
        assert patchable() == before


@pytest.mark.skipif(importlib.util.find_spec("ipykernel") is None, reason="ipykernel is not installed")
def test_loading_needs_no_torch():
    import subprocess

    code = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell as S; import constviz\n"
        "constviz.load_ipython_extension(S.instance()); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
