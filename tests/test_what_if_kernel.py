"""What-if in a real kernel: it waits for a cell that awaits, and is stopped by Cancel or by an interrupt."""

from __future__ import annotations

import time

import pytest
from shells import Kernel

pytest.importorskip("ipykernel")

SETUP = """\
%load_ext constviz
import asyncio, time, torch
STATE, PAUSE = {'k': 2.0}, {'s': 0.0}
@torch.compiler.assume_constant_result
def value(): return STATE['k']
def f(x):
    print('called', PAUSE['s'])
    time.sleep(PAUSE['s'])
    return x * value()
import constviz
report = constviz.compare(f, args=(torch.ones(2),), backend='eager')
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    kernel = Kernel(tmp_path_factory.mktemp("kernel"))
    assert kernel.run(SETUP).error is None
    yield kernel
    kernel.close()


@pytest.fixture
def diagram(kernel):
    kernel.run("STATE['k'], PAUSE['s'] = 2.0, 0.0")
    (widget,) = kernel.run("report").widgets
    return widget["application/vnd.jupyter.widget-view+json"]["model_id"]


def send(kernel, diagram, subshell=None, **content):
    session = kernel.client.session
    message = session.msg(
        "comm_msg", {"comm_id": diagram, "data": {"method": "custom", "content": {**content, "id": 1}}}
    )
    if subshell is not None:
        message["header"]["subshell_id"] = subshell
    kernel.client.shell_channel.send(message)


def statuses(kernel, until, timeout=60):
    """The statuses of the diagram up to the first for which ``until`` is true, and what cells printed meanwhile."""
    seen, printed, end = [], "", time.monotonic() + timeout
    while not seen or not until(seen[-1]):
        message = kernel.client.get_iopub_msg(timeout=max(end - time.monotonic(), 0.1))
        state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_msg" else {}
        if state.get("status"):
            seen.append(state["status"])
        if message["msg_type"] == "stream":
            printed += message["content"]["text"]
            seen.append({"busy": True, "text": message["content"]["text"].strip(), "error": ""})
    return seen, printed


def is_over(status):
    return not status["busy"]


def subshell_of(kernel):
    session, channel = kernel.client.session, kernel.client.control_channel
    channel.send(session.msg("create_subshell_request", {}))
    while True:
        reply = kernel.client.get_control_msg(timeout=30)
        if reply["msg_type"] == "create_subshell_reply":
            return reply["content"]["subshell_id"]


def has_subshells(kernel):
    return (
        kernel.run("'kernel subshells' in get_ipython().kernel.kernel_info.get('supported_features', [])").result
        == "True"
    )


@pytest.mark.parametrize("way", ["main", "subshell"])
def test_it_waits_for_a_cell_that_awaits(kernel, diagram, way):
    if way == "subshell" and not has_subshells(kernel):
        pytest.skip("this kernel has no subshells")
    subshell = subshell_of(kernel) if way == "subshell" else None
    kernel.client.execute(
        "STATE['k'] = 99.0\nprint('begins', flush=True)\nawait asyncio.sleep(1.5)\nSTATE['k'] = 3.0\n"
        "print('ends', flush=True)"
    )
    statuses(kernel, lambda status: status["text"] == "begins")
    send(kernel, diagram, subshell, kind="fold", names=["value"])
    seen, _ = statuses(kernel, is_over)
    words = [status["text"].split(" interrupt")[0] for status in seen]
    assert words.index("ends") < words.index("running it eagerly…")
    assert not seen[-1]["error"]
    assert kernel.run("[f.result.text for f in report.widget.comparison.variants['after'].folds]").result == "['3.0']"


def test_an_interrupt_stops_it_and_the_status_says_so(kernel, diagram):
    kernel.run("PAUSE['s'] = 20.0")
    send(kernel, diagram, kind="fold", names=["value"])
    (*_, running), _ = statuses(kernel, lambda status: status["text"].startswith("running it eagerly…"))
    assert running == {
        "busy": True, "text": "running it eagerly… interrupt the kernel to stop it", "error": "", "cancel": False,
    }  # fmt: skip
    begun = time.monotonic()
    time.sleep(0.5)
    kernel.manager.interrupt_kernel()
    (*_, last), _ = statuses(kernel, is_over)
    assert last == {"busy": False, "text": "", "error": "KeyboardInterrupt: "}
    assert time.monotonic() - begun < 15


def test_cancel_stops_it_where_messages_get_through(kernel, diagram):
    if not has_subshells(kernel):
        pytest.skip("this kernel has no subshells")
    kernel.run("PAUSE['s'] = 2.0")
    subshell = subshell_of(kernel)
    send(kernel, diagram, subshell, kind="fold", names=["value"])
    (*_, running), _ = statuses(kernel, lambda status: status["text"].startswith("running it eagerly…"))
    assert running == {"busy": True, "text": "running it eagerly…", "error": ""}
    send(kernel, diagram, subshell, kind="cancel")
    seen, _ = statuses(kernel, is_over)
    assert [status["text"] for status in seen] == ["cancelling: stops after this step…", "cancelled"]
