"""``python -m constviz``: run the quickstart notebook and open it as one page that needs no network."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Any

from .display.html import FRAME

HERE = Path(__file__).parent
# the first lies in an installed package, the second in a checkout
PLACES = (HERE / "quickstart.ipynb", HERE.parent / "notebooks" / "01_quickstart.ipynb")

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Stop(Exception):
    """What keeps the notebook from running, and what to do about it."""


def main(argv: list[str] | None = None) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m constviz", description=__doc__.split(": ", 1)[1])
    parser.add_argument("-o", "--output", type=Path, metavar="PAGE", default=Path("constviz-quickstart.html"))
    parser.add_argument("--no-open", action="store_true", help="write the page, open no browser")
    parser.add_argument("--lab", action="store_true", help="open a copy of the notebook in JupyterLab instead")
    options = parser.parse_args(argv)
    try:
        if options.lab:
            return open_in_lab(options.output.with_suffix(".ipynb"))
        page = write_page(options.output)
    except Stop as stop:
        print(f"constviz: {stop}", file=sys.stderr)
        return 1
    if not options.no_open and has_display() and webbrowser.open(page.as_uri()):
        print(f"opened {page}")
    else:
        print(f"wrote {page}\nOpen it in a browser: it holds everything it needs.")
    return 0


def quickstart() -> Path:
    """Where the notebook lies."""
    for place in PLACES:
        if place.exists():
            return place
    raise Stop(f"the quickstart notebook is missing: looked for {' and '.join(map(str, PLACES))}")


def write_page(target: Path) -> Path:
    """Execute the notebook in a kernel of this very Python and write it as one HTML page."""
    require("ipykernel", "nbclient", "nbconvert", "nbformat", "transformers")
    source = quickstart()
    target = target.absolute()
    if not target.parent.is_dir():
        raise Stop(f"no folder {target.parent} to write {target.name} into")

    import nbformat
    from nbclient.exceptions import CellExecutionError

    print("running the quickstart notebook ...", flush=True)
    notebook = nbformat.read(source, as_version=4)
    try:
        execute(notebook)
    except CellExecutionError as error:
        raise Stop(f"a cell of {source.name} failed\n{ANSI.sub('', str(error))}") from None
    target.write_text(as_html(notebook), encoding="utf-8")
    return target


def execute(notebook: Any) -> None:
    """Run all cells, whatever kernels are installed for other Pythons."""
    from ipykernel.kernelspec import RESOURCES, get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(resource_dir=RESOURCES, env={"CONSTVIZ_DISPLAY": "page"}, **get_kernel_dict())

    kernel = AsyncKernelManager(kernel_spec_manager=ThisPython())
    options = {"timeout": 600, "store_widget_state": False, "record_timing": False}
    NotebookClient(notebook, km=kernel, extra_arguments=["--log-level=ERROR"], **options).execute()


def as_html(notebook: Any) -> str:
    """The notebook as a page of its own, without the scripts that nbconvert would fetch from elsewhere.

    Each report is a diagram to work in; a browser without scripts shows its picture in place of that.
    """
    from nbconvert import HTMLExporter

    for cell in notebook.cells:
        for output, following in itertools.pairwise(cell.get("outputs", [])):
            if str(following.get("data", {}).get("text/html", "")).startswith(FRAME):  # the diagram of this picture
                output["data"]["text/html"] = f"<noscript>{output['data']['text/html']}</noscript>"
    notebook.metadata["title"] = "constviz quickstart"
    notebook.metadata.pop("widgets", None)  # else the page would ask for the widgets' scripts
    nowhere = "data:text/javascript,"
    exporter = HTMLExporter(embed_images=True, require_js_url=nowhere, jquery_url=nowhere, mathjax_url=nowhere)
    page, _ = exporter.from_notebook_node(notebook)
    return str(page)


def open_in_lab(copy: Path) -> int:
    """Start JupyterLab on a copy of the notebook, so that nobody edits the installed one."""
    require("jupyterlab", "transformers", extra="lab")
    if not copy.exists():
        shutil.copyfile(quickstart(), copy)
    return subprocess.call([sys.executable, "-m", "jupyterlab", str(copy)])


def require(*modules: str, extra: str = "quickstart") -> None:
    """Stop with the line that installs what is missing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise Stop(f'{", ".join(missing)} not installed; run: python -m pip install "constviz[{extra}]"')


def has_display() -> bool:
    """Whether a browser window can appear; a browser in the terminal could not show the pictures."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())
