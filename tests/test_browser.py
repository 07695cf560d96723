"""A report in a real JupyterLab, saved, reopened untrusted, and turned into a page: a picture each time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from labs import CHROMIUM, FLAGS, Lab, leaves_the_machine, run_all, save, shut_down_kernel
from shells import environment

sync_api = pytest.importorskip("playwright.sync_api")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupyterlab")
pytest.importorskip("nbconvert")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a system Chromium, and there is none")

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
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


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


@pytest.fixture(scope="module")
def executed(lab, browser, tmp_path_factory):
    """The notebook as JupyterLab saved it after running every cell."""
    path = lab.write("run.ipynb", CELLS)
    page = browser.new_page(viewport={"width": 1400, "height": 1500})
    page.set_default_timeout(120_000)
    run_all(page, lab.address("run.ipynb"))
    page.locator(".constviz .cv-box").first.wait_for()
    page.screenshot(path=str(tmp_path_factory.mktemp("shots") / "run.png"))
    text = page.locator(".jp-Cell").nth(2).locator(".jp-OutputArea-output").all_text_contents()
    save(page, path, lambda saved: len(saved["cells"][-1]["outputs"]) == 3)
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
    assert [output["output_type"] for output in outputs] == ["execute_result", "display_data", "display_data"]
    assert "folded" in "".join(outputs[1]["data"]["text/plain"])
    assert "".join(outputs[2]["data"]["text/plain"]) == "interactive diagram of f"


def test_the_words_are_there_beside_the_picture(executed):
    _, text = executed
    assert "constant bytes" in text
    assert "folded" in text


def test_reopened_untrusted_and_without_a_kernel(executed, lab, page, tmp_path):
    path, _ = executed
    copy = json.loads(path.read_text())
    copy["cells"].insert(0, nbformat.v4.new_markdown_cell("A copy from elsewhere"))  # another text: not signed here
    (lab.root / "copy.ipynb").write_text(json.dumps(copy))
    page.goto(lab.address("copy.ipynb"))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    shut_down_kernel(page)
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
