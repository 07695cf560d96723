"""A real JupyterLab and a real Notebook in headless Chromium."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from shells import environment

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

SESSION = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session"


class Lab:
    """A running server that knows no user.  ``app`` is ``lab`` or ``notebook``."""

    def __init__(self, home: Path, app: str = "lab") -> None:
        self.root, settings = home / "root", home / "settings"
        self.root.mkdir()
        quiet = settings / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
        quiet.parent.mkdir(parents=True)
        quiet.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.token = secrets.token_hex(16)
        self.path = "lab/tree" if app == "lab" else "notebooks"
        command = [
            *(sys.executable, "-m", "jupyterlab" if app == "lab" else "notebook"),
            *("--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={self.port}", "--ServerApp.port_retries=0"),
            *(f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}"),
            "--expose-app-in-browser",
        ]
        places = {"JUPYTERLAB_SETTINGS_DIR": str(settings), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
        self._log = (home / "log").open("w")
        self._server = subprocess.Popen(
            command, env={**environment(home), **places}, stdout=self._log, stderr=self._log
        )
        self._wait(f"http://127.0.0.1:{self.port}/api")

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{self.path}/{name}?reset&token={self.token}"

    def write(self, name: str, cells: list[str]) -> Path:
        """A notebook with these cells, not yet run."""
        import nbformat

        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, self.root / name)
        return self.root / name

    def close(self) -> None:
        self._server.terminate()
        self._server.wait(30)
        self._log.close()

    def _wait(self, address: str) -> None:
        for _ in range(240):
            assert self._server.poll() is None, "the server did not start"
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address, timeout=1)
                return
            time.sleep(0.25)
        raise TimeoutError(address)


def leaves_the_machine(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "file:", "data:", "blob:", "about:"))


def run_all(page, address: str) -> None:
    """Open a notebook and run all its cells; returns when the kernel has nothing to do any more."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(f"() => {SESSION}?.kernel?.status === 'idle'")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-InputPrompt')].every((prompt) => /\\[\\d+\\]/.test(prompt.innerText))"
    )


def run_cell(page, source: str) -> str:
    """Put a cell at the end, run it, and return what it printed."""
    page.evaluate(
        """async (source) => {
            const panel = window.jupyterapp.shell.currentWidget;
            panel.content.activeCellIndex = panel.content.widgets.length - 1;
            await window.jupyterapp.commands.execute('notebook:insert-cell-below');
            panel.content.activeCell.model.sharedModel.setSource(source);
            await window.jupyterapp.commands.execute('notebook:run-cell');
        }""",
        source,
    )
    cell = page.locator(".jp-Cell").last
    cell.locator(".jp-OutputArea-output").first.wait_for()
    return str(cell.locator(".jp-OutputArea-output").first.inner_text()).strip()


def save(page, path: Path, done) -> dict:
    """Save the open notebook; returns its content once ``done`` is true of it."""
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    for _ in range(100):
        with contextlib.suppress(json.JSONDecodeError):
            saved = json.loads(path.read_text())
            if done(saved):
                return saved
        time.sleep(0.2)
    raise TimeoutError(f"{path.name} was not saved")


def shut_down_kernel(page) -> None:
    page.wait_for_function(f"() => {SESSION}?.kernel")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
