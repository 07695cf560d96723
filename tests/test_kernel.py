"""The magics in a real kernel: what only the protocol, the event loop and signals can show."""

from __future__ import annotations

import pytest
from shells import SETUP, Kernel

pytest.importorskip("ipykernel")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    kernel = Kernel(tmp_path_factory.mktemp("kernel"))
    setup = kernel.run(
        "%load_ext constviz\nfrom torch._dynamo import eval_frame\nORIGINAL = eval_frame._callback_from_stance"
    )
    assert setup.error is None, setup.traceback
    assert kernel.run(SETUP).error is None
    yield kernel
    kernel.close()


def unpatched(kernel):
    return kernel.run("eval_frame._callback_from_stance is ORIGINAL").result == "True"


def test_output_then_result_then_report(kernel):
    ran = kernel.run("%%constfold\nprint('mine')\nf(x).sum().item()")
    assert ran.order == ["stream", "execute_result", "display_data", "widget"]
    assert (ran.stdout, ran.result) == ("mine\n", "12.0")
    assert unpatched(kernel)


def test_without_anywidget_there_is_the_picture_and_a_line(kernel):
    kernel.run("import sys\nkept = {n: sys.modules.pop(n, None) for n in ('anywidget', 'constviz.display.widget')}")
    kernel.run("sys.modules['anywidget'] = None")
    ran = kernel.run("%%constfold\nf(x);")
    kernel.run("sys.modules.update({n: m for n, m in kept.items() if m}); sys.modules['anywidget'] is None")
    assert (ran.error, len(ran.reports), ran.widgets, ran.stderr) == (None, 1, [], "")
    (line,) = ran.lines
    assert line.startswith("constviz: no interactive diagram: ")
    assert line.endswith("python -m pip install anywidget ipywidgets")
    kernel.run("if sys.modules['anywidget'] is None: del sys.modules['anywidget']")
    assert kernel.run("%%constfold\nf(x);").widgets


def test_await_at_top_level(kernel):
    ran = kernel.run("%%constfold\nimport asyncio\nawait asyncio.sleep(0.01)\nf(x)\nawait asyncio.sleep(0, 'end')")
    assert (ran.error, ran.result, len(ran.reports)) == (None, "'end'", 1)


def test_line_numbers_are_those_of_the_cell(kernel):
    count = int(kernel.run("get_ipython().execution_count").result)
    ran = kernel.run("%%constfold\nf(x)\n\nboom(x)")
    assert ran.error == "ValueError"
    assert f"Cell In[{count}], line 4" in ran.traceback
    assert "----> 4 boom(x)" in ran.traceback
    assert "constviz" not in ran.traceback
    assert ran.order == ["error", "display_data", "widget"]


def test_a_syntax_error_is_native(kernel):
    ran = kernel.run("%%constfold\nx = (1,\n")
    assert ran.error in ("SyntaxError", "_IncompleteInputError")
    assert "line 2" in ran.traceback
    assert "constfold" not in ran.traceback
    assert not ran.reports


def test_history_holds_what_was_typed(kernel):
    kernel.run("%%constfold -q\nf(x);")
    assert kernel.run("print(_i)").stdout == "%%constfold -q\nf(x);\n"
    source = "%%constfold -q\ndef local(x):\n    return x\nimport inspect; inspect.getsource(local)"
    assert kernel.run(source).result == repr("def local(x):\n    return x\n")


@pytest.mark.parametrize("wait", ["time.sleep(60)", "await asyncio.sleep(60)"])
def test_an_interrupt_leaves_nothing_behind(kernel, wait):
    ran = kernel.run(
        f"%%constfold\nimport asyncio, time\nf(x)\nprint('waiting', flush=True)\n{wait}", interrupt_on="waiting"
    )
    assert ran.error in ("KeyboardInterrupt", "CancelledError")
    assert not ran.reports
    assert unpatched(kernel)
    assert len(kernel.run("%%constfold\nf(x);").reports) == 1


def test_an_interrupt_while_a_report_is_made(kernel):
    kernel.run(
        "import time\n"
        "def slow(gm, inputs):\n"
        "    get_ipython().display_pub.publish({'text/plain': 'waiting'})\n"
        "    time.sleep(60)\n"
        "@torch.compile(backend='eager')\n"
        "def h(x): return torch.cos(x) * scale()"
    )
    ran = kernel.run("%%constfold --backend slow\nh(x).shape", interrupt_on="waiting")
    assert (ran.error, ran.result) == (None, "torch.Size([3])")
    assert ran.reports == ["waiting"]
    assert ran.lines == ["constviz: interrupted: no report for h"]
    assert unpatched(kernel)


@pytest.mark.parametrize(
    "cell",
    ["%%time\n%%constfold\nf(x);", "%%constfold\n%%time\nf(x);", "%%constfold\n%%capture out\nf(x); print('hidden')"],
)
def test_time_and_capture(kernel, cell):
    ran = kernel.run(cell)
    assert (ran.error, len(ran.reports)) == (None, 1)
    assert ("Wall time" in ran.stdout) == ("time" in cell)
    assert "hidden" not in ran.stdout


def test_capture_around_takes_the_report(kernel):
    ran = kernel.run("%%capture out\n%%constfold\ny = f(x)")
    assert ran.order == []
    assert kernel.run("len(out.outputs)").result == "2"
    assert kernel.run("%%time\n%%constfold\nboom(x)").error == "ValueError"
    assert unpatched(kernel)


def test_a_silent_cell_leaves_nothing_open(kernel):
    kernel.run("%%constfold\nf(x);", silent=True)
    assert unpatched(kernel)


def test_one_call(kernel):
    ran = kernel.run("%constfold f(x)")
    assert (ran.error, ran.order) == (None, ["display_data", "widget"])
    assert kernel.run("%constfold boom(x)").error == "ValueError"
    assert kernel.run("%constfold f").error == "UsageError"


def test_what_a_variant_prints_is_not_shown(kernel):
    kernel.run("@torch.compile(backend='eager')\ndef talks(x):\n    print('once')\n    return x + 1")
    assert kernel.run("%%constfold -q\ntalks(x);").stdout == "once\n"


def test_completion_and_help(kernel):
    assert kernel.complete("%%constfold --sta") == ["%%constfold --stage"]
    assert kernel.complete("%%constfold --fold sc") == ["%%constfold --fold scale"]
    assert "%%constfold\nboom" in kernel.complete("%%constfold\nboo")
    for name in ("%%constfold", "%constfold", "%constviz"):
        assert "before" in kernel.help(name)


def test_on_and_off(kernel):
    assert len(kernel.run("%constviz on\nf(x);").reports) == 1
    assert len(kernel.run("import asyncio; await asyncio.sleep(0)\ng(x);").reports) == 1
    assert kernel.run("f(x); g(x);").reports == []
    kernel.run("%constviz off")
    assert unpatched(kernel)


def test_reload_and_unload(kernel):
    assert kernel.run("%%constfold\nf(x)\n%reload_ext constviz").error is None
    assert unpatched(kernel)
    assert len(kernel.run("%%constfold\nf(x);").reports) == 1
    assert kernel.run("%%constfold\nf(x)\n%unload_ext constviz").error is None
    assert unpatched(kernel)
    assert kernel.run("%%constfold\nf(x);").error == "UsageError"
    assert kernel.run("%load_ext constviz").error is None


def test_watch_and_unwatch(kernel):
    kernel.run("S = {'k': 3.0}\n@torch.compiler.assume_constant_result\ndef k(): return S['k']")
    kernel.run("@torch.compile(backend='eager')\ndef w(x): return x * k()")
    kernel.run("%constviz watch")
    kernel.run("%%constfold -q\nw(x);")
    ran = kernel.run("S['k'] = 5.0\n1 / 0")
    assert ran.error == "ZeroDivisionError"
    assert ran.lines == ["constviz: w goes on with an old value"]
    assert "  k read S['k'] = 3.0; it is 5.0 now\n  to compile it anew: constviz.refresh(w)" in ran.stdout
    kernel.run("%constviz unwatch")
    assert kernel.run("S['k'] = 6.0").stdout == ""
