"""Watching every cell, loading and unloading: on, off, and a shell that is left as it was."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from shell.patched import hooks, patchable

import constviz

pytest_plugins = ["shell.loaded"]


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
