"""What is installed, what importing it costs, and the command ``python -m constviz``."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import zipfile
from html import unescape
from pathlib import Path

import pytest
from labs import CHROMIUM, FLAGS, leaves_the_machine

import constviz
from constviz import __main__ as command

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "notebooks" / "01_quickstart.ipynb"


def python(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=cwd, timeout=300)


def test_import_loads_neither_dynamo_nor_ipython() -> None:
    heavy = ("torch", "torch._dynamo", "IPython", "pandas", "ipywidgets", "anywidget")
    run = python("-c", f"import sys, constviz; print([m for m in {heavy} if m in sys.modules])")
    assert run.stdout.strip() == "[]", run.stderr


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("constviz") == constviz.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", constviz.__version__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        constviz.nonsense  # noqa: B018


def test_every_public_name_resolves() -> None:
    run = python("-c", "import constviz; print([n for n in constviz.__all__ if getattr(constviz, n) is None])")
    assert run.stdout.strip() == "[]", run.stderr
    assert set(constviz.__all__) <= set(dir(constviz))


@pytest.mark.parametrize("first", ["constviz.magics", "constviz.comparison", "constviz.report", "constviz.extension"])
def test_compare_is_the_function_whatever_was_imported_first(first: str) -> None:
    run = python("-c", f"import {first}, constviz; print(constviz.compare)")
    assert run.stdout.startswith("<function compare"), run.stdout + run.stderr


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="not a checkout")
def test_wheel_holds_notebook_marker_and_static_files(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    run = python("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=ROOT)
    assert run.returncode == 0, run.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert {"constviz/quickstart.ipynb", "constviz/py.typed", "constviz/__main__.py"} <= names
    inside = {p.relative_to(ROOT).as_posix() for p in (ROOT / "constviz").rglob("*") if p.suffix in (".js", ".css")}
    assert inside <= names
    assert "License-Expression: BSD-3-Clause" in metadata
    assert not [n for n in names if n.startswith(("tests/", "benchmarks/"))]


def test_notebook_is_clean() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(text)
    outputs = [o for cell in notebook["cells"] for o in cell.get("outputs", [])]
    assert outputs, "committed with its outputs"
    assert not [o for o in outputs if o.get("name") == "stderr" or o["output_type"] == "error"]
    assert max(len(json.dumps(o)) for o in outputs) <= 300_000
    assert not re.search(r"/tmp/|/home/|/root/|site-packages|[A-Z]:\\\\Users|\.\./shared", text)


class TestCommand:
    def test_page_is_whole_and_needs_no_network(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        run = python("-m", "constviz", "--no-open", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        page = tmp_path / "constviz-quickstart.html"
        assert str(page) in run.stdout
        html = page.read_text(encoding="utf-8")
        assert html.count("data:image/svg+xml;base64,") >= 5  # one picture a report
        assert not re.findall(r"""<(?:script|img|link|iframe)[^>]*(?:src|href)=["']https?:""", html)
        assert "CellExecutionError" not in html
        pages = [unescape(page) for page in re.findall(r'<iframe class="constviz-page"[^>]* srcdoc="([^"]*)"', html)]
        assert len(pages) == html.count('<noscript><img alt="constviz diagram') >= 5
        for page in pages:  # each whole by itself, and closed to the network
            assert "default-src 'none'" in page and 'id="constviz-data"' in page
            assert not re.findall(r"""<(?:script|img|link|iframe)[^>]*(?:src|href)=["']https?:""", page)
        self._is_shown(tmp_path / "constviz-quickstart.html", len(pages))

    def _is_shown(self, page: Path, count: int) -> None:
        """In a browser without a network every diagram can be searched, and tells of its nodes."""
        sync_api = pytest.importorskip("playwright.sync_api")
        if CHROMIUM is None:
            return
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            view = browser.new_page()
            asked: list[str] = []
            view.on("request", lambda request: asked.append(request.url))
            view.goto(page.as_uri())
            frames = view.locator("iframe.constviz-page")
            assert frames.count() == count
            for k in range(count):
                frames.nth(k).scroll_into_view_if_needed()  # what is out of sight stands still
                inside = frames.nth(k).content_frame
                inside.locator(".constviz input[type=search]").fill("output")
                inside.locator(".constviz input[type=search]").press("Enter")
                inside.locator(".constviz .cv-details", has_text="output").wait_for()
            assert not [url for url in asked if leaves_the_machine(url)]
            browser.close()

    def test_missing_parts_are_named_with_the_line_that_installs_them(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "transformers" else object())
        assert command.main(["--no-open"]) == 1
        error = capsys.readouterr().err
        assert error == 'constviz: transformers not installed; run: python -m pip install "constviz[quickstart]"\n'

    def test_missing_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["--no-open", "-o", str(tmp_path / "no" / "page.html")]) == 1
        assert "no folder" in capsys.readouterr().err

    def test_missing_notebook(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(command, "PLACES", (Path("nowhere.ipynb"),))
        assert command.main(["--no-open"]) == 1
        assert "quickstart notebook is missing" in capsys.readouterr().err

    def test_opens_a_browser_only_where_there_is_a_display(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        page = tmp_path / "page.html"
        opened: list[str] = []
        monkeypatch.setattr(command, "write_page", lambda target: page)
        monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
        monkeypatch.setattr(command, "has_display", lambda: False)
        assert command.main([]) == 0
        assert opened == []
        monkeypatch.setattr(command, "has_display", lambda: True)
        assert command.main([]) == 0
        assert opened == [page.as_uri()]
        assert capsys.readouterr().out.splitlines()[-1] == f"opened {page}"

    def test_lab_gets_a_copy_and_keeps_an_edited_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[list[str]] = []
        monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
        monkeypatch.setattr("subprocess.call", lambda argv: calls.append(argv) or 0)
        copy = tmp_path / "page.ipynb"
        assert command.main(["--lab", "-o", str(tmp_path / "page.html")]) == 0
        assert copy.read_bytes() == command.quickstart().read_bytes()
        copy.write_text("edited")
        assert command.main(["--lab", "-o", str(tmp_path / "page.html")]) == 0
        assert copy.read_text() == "edited"
        assert calls[-1][1:] == ["-m", "jupyterlab", str(copy)]
