"""A report in a real JupyterLab, saved, reopened untrusted, and turned into a page: a picture each time."""

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

import pytest
from shells import environment

sync_api = pytest.importorskip("playwright.sync_api")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupyterlab")
pytest.importorskip("nbconvert")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a system Chromium, and there is none")

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

CELLS = [
    "%load_ext constviz",
    """\
import torch
CFG = {"scale": 3.0}
@torch.compiler.assume_constant_result
def scale():
    return CFG["scale"]
@torch.compile(backend="eager")
def f(x):
    return torch.relu(x) * scale()""",
    "%%constfold\nf(torch.arange(3.))",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that knows no user, and its folder."""
    home = tmp_path_factory.mktemp("lab")
    root, settings = home / "root", home / "settings"
    root.mkdir()
    quiet = settings / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
        *("--expose-app-in-browser", "--LabApp.extension_manager=readonly"),
    ]
    places = {"JUPYTERLAB_SETTINGS_DIR": str(settings), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, env={**environment(home), **places}, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/api", server)
        yield lambda name: f"http://127.0.0.1:{port}/lab/tree/{name}?reset&token={token}", root
    finally:
        server.terminate()
        server.wait(30)


def wait_for(address, server):
    for _ in range(240):
        assert server.poll() is None, "JupyterLab did not start"
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=1)
            return
        time.sleep(0.25)
    raise TimeoutError(address)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 1500})
    page.set_default_timeout(120_000)
    page.outside = []
    page.on("request", lambda request: page.outside.append(request.url) if leaves_the_machine(request.url) else None)
    yield page
    page.close()


def leaves_the_machine(url):
    return not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "file:", "data:", "blob:", "about:"))


@pytest.fixture(scope="module")
def executed(lab, browser, tmp_path_factory):
    """The notebook as JupyterLab saved it after running every cell."""
    address, root = lab
    path = root / "run.ipynb"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    nbformat.write(notebook, path)
    page = browser.new_page(viewport={"width": 1400, "height": 1500})
    page.set_default_timeout(120_000)
    page.goto(address("run.ipynb"))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(
        "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    look(page, tmp_path_factory.mktemp("shots") / "run.png")
    text = page.locator(".jp-Cell").nth(2).locator(".jp-OutputArea-output").all_inner_texts()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    for _ in range(100):
        saved = json.loads(path.read_text())
        if saved["cells"][-1]["outputs"]:
            break
        time.sleep(0.2)
    page.close()
    return path, "\n".join(text)


def look(page, shot):
    """Wait for the picture of the report, see that it has a size, and take a screenshot."""
    picture = page.locator(".jp-OutputArea-output img[src^='data:image/svg'], .jp-OutputArea-output svg").first
    picture.wait_for(timeout=30_000)
    picture.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box = picture.bounding_box()
    page.screenshot(path=str(shot))
    assert box["width"] > 100, box
    assert box["height"] > 50, box
    assert picture.evaluate("e => e.tagName.toLowerCase() !== 'img' || e.complete && e.naturalWidth > 0")


def test_a_cell_shows_its_result_and_the_picture(executed):
    path, text = executed
    assert "tensor([0., 3., 6.])" in text
    outputs = json.loads(path.read_text())["cells"][-1]["outputs"]
    assert [output["output_type"] for output in outputs] == ["execute_result", "display_data"]
    assert "folded" in "".join(outputs[1]["data"]["text/plain"])


def test_the_words_are_there_beside_the_picture(executed):
    _, text = executed
    assert "constant bytes" in text
    assert "folded" in text


def test_reopened_untrusted_and_without_a_kernel(executed, lab, page, tmp_path):
    path, _ = executed
    address, root = lab
    copy = json.loads(path.read_text())
    copy["cells"].insert(0, nbformat.v4.new_markdown_cell("A copy from elsewhere"))  # another text: not signed here
    (root / "copy.ipynb").write_text(json.dumps(copy))
    page.goto(address("copy.ipynb"))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    assert not page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.cells.get(3).trusted")
    look(page, tmp_path / "untrusted.png")
    assert not page.outside


def test_as_a_page_without_a_network(executed, page, tmp_path):
    path, _ = executed
    command = [sys.executable, "-m", "nbconvert", "--to", "html", str(path), "--output-dir", str(tmp_path)]
    subprocess.run(command, check=True, env=environment(tmp_path), capture_output=True, timeout=180)
    html = tmp_path / "run.html"
    assert 'src="data:image/svg+xml' in html.read_text()
    page.route(lambda url: leaves_the_machine(url), lambda route: route.abort())
    page.goto(html.as_uri(), wait_until="domcontentloaded")
    look(page, tmp_path / "page.png")
