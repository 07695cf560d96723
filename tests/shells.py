"""Two ways to run cells: a shell in this process, and a real kernel in another."""

from __future__ import annotations

import atexit
import os
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import constviz

ROOT = Path(constviz.__file__).parents[1]
SETUP = """\
import torch
@torch.compiler.assume_constant_result
def scale(): return 3.0
@torch.compiler.assume_constant_result
def shift(): return 1.0
@torch.compile(backend="eager")
def f(x): return torch.relu(x) * scale() + shift()
@torch.compile(backend="eager")
def g(x): return torch.sin(x) * scale()
def boom(x): raise ValueError("from boom")
x = torch.ones(3)
"""


WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass
class Ran:
    """What one cell gave."""

    stdout: str = ""
    stderr: str = ""
    shown: list[dict[str, Any]] = field(default_factory=list)
    """The mime bundles of display(), without those of widgets."""
    widgets: list[dict[str, Any]] = field(default_factory=list)
    """The mime bundles of widgets."""
    result: str | None = None
    """The text of the last expression."""
    error: str | None = None
    """The type of the exception."""
    traceback: str = ""
    order: list[str] = field(default_factory=list)
    """The kinds of the outputs, as they came."""

    @property
    def reports(self) -> list[str]:
        """The text of what was shown."""
        return [bundle["text/plain"] for bundle in self.shown]

    @property
    def lines(self) -> list[str]:
        """What constviz says in words."""
        return [line for line in self.stdout.splitlines() if line.startswith("constviz: ")]


class Shell:
    """A real IPython shell in this process."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        self.ip = InteractiveShell.instance(config=config, colors="nocolor")
        constviz.load_ipython_extension(self.ip)

    def run(self, cell: str) -> Ran:
        from IPython.utils.capture import capture_output

        with capture_output() as seen:
            result = self.ip.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        return Ran(
            stdout=seen.stdout,
            stderr=seen.stderr,
            shown=[output.data for output in seen.outputs],
            result=None if result.result is None else repr(result.result),
            error=type(error).__name__ if error else None,
            traceback=plain(seen.stdout),
        )

    def complete(self, text: str) -> list[str]:
        from IPython.core.completer import provisionalcompleter

        with provisionalcompleter():
            return [text[: c.start] + c.text for c in self.ip.Completer.completions(text, len(text))]

    def close(self) -> None:
        constviz.unload_ipython_extension(self.ip)
        atexit.unregister(self.ip.atexit_operations)  # it clears the namespace before PyTorch has let go of it


class Kernel:
    """A real kernel, spoken to over its sockets."""

    def __init__(self, directory: Path) -> None:
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager(kernel_name="python3")
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel(env=environment(directory), cwd=str(directory))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def run(self, cell: str, *, interrupt_on: str = "", silent: bool = False, timeout: float = 180) -> Ran:
        """Run a cell; with ``interrupt_on``, interrupt it when that text has appeared."""
        sent = self.client.execute(cell, silent=silent)
        ran, end = Ran(), time.monotonic() + timeout
        while True:
            message = self.client.get_iopub_msg(timeout=max(end - time.monotonic(), 0.1))
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind == "stream":
                setattr(ran, content["name"], getattr(ran, content["name"]) + content["text"])
            elif kind == "display_data" and WIDGET in content["data"]:
                kind = "widget"
                ran.widgets.append(content["data"])
            elif kind == "display_data":
                ran.shown.append(content["data"])
            elif kind == "execute_result":
                ran.result = content["data"]["text/plain"]
            elif kind == "error":
                ran.error, ran.traceback = content["ename"], plain("\n".join(content["traceback"]))
            if interrupt_on and interrupt_on in str(content.get("text") or content.get("data")):
                self.manager.interrupt_kernel()
            if kind in ("stream", "display_data", "widget", "execute_result", "error"):
                ran.order.append(kind)
        reply = self._reply(sent, timeout)
        if not silent:  # a UsageError is in the reply alone
            assert ran.error in (None, reply.get("ename"))
            ran.error = reply.get("ename")
        return ran

    def complete(self, text: str) -> list[str]:
        reply = self._reply(self.client.complete(text, len(text)), 60)
        return [text[: reply["cursor_start"]] + match for match in reply["matches"]]

    def help(self, name: str) -> str:
        """What ``name?`` shows."""
        sent = self.client.execute(f"{name}?")
        (page,) = self._reply(sent, 60)["payload"]
        return plain(page["data"]["text/plain"])

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def _reply(self, sent: str, timeout: float) -> dict[str, Any]:
        while True:
            message = self.client.get_shell_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") == sent:
                return dict(message["content"])


def environment(directory: Path) -> dict[str, str]:
    """An environment for another process: this constviz, and no file of the user's."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    places = {name: str(directory / name.lower()) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    return {**os.environ, **places, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def plain(text: str) -> str:
    """Text without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
