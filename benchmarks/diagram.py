"""How fast a large diagram is there: ``python -m benchmarks.diagram``, in a real JupyterLab, peers in the same run.

For each size one model is captured; then each tool shows its graph in a notebook of its own.  "Painted" runs from the
statement that shows it to the second animation frame after its boxes stand in the page, by the clock that kernel and
browser share.  Opening a group, closing it and panning are done in the page as a reader does them.
Exit status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from labs import CHROMIUM, FLAGS, Lab

SIZES = (1_000, 3_000, 5_700, 20_000)
PAINTED_S, TOGGLE_S, FRAME_MS = 1.0, 0.3, 20.0
PATIENCE_S = 120

CAPTURE = """\
import time, warnings
warnings.simplefilter("ignore")
import torch, constviz
from benchmarks.diagram import graph_of, stack
net, x = stack({nodes})
"""
SHOW = {
    "constviz": (
        "report = constviz.compare(net, args=(x,), backend='eager', probe=False)\nlen(report.nodes())",
        "START = time.time()\nreport",
        "() => document.querySelectorAll('.constviz .cv-box:not(.cv-absent)').length > 2",
    ),
    "FxGraphDrawer": (
        "from torch.fx.passes.graph_drawer import FxGraphDrawer\nfrom IPython.display import SVG\n"
        "gm = graph_of(net, x)\nlen(gm.graph.nodes)",
        "START = time.time()\nSVG(FxGraphDrawer(gm, 'after').get_dot_graph().create_svg())",
        "() => [...document.querySelectorAll('.jp-RenderedSVG img')].some((img) => img.complete && img.naturalWidth)",
    ),
    "graphviz-anywidget": (
        "from torch.fx.passes.graph_drawer import FxGraphDrawer\nfrom graphviz_anywidget import graphviz_widget\n"
        "gm = graph_of(net, x)\nlen(gm.graph.nodes)",
        "START = time.time()\ngraphviz_widget(FxGraphDrawer(gm, 'after').get_dot_graph().to_string())",
        "() => document.querySelectorAll('.jp-OutputArea-output svg g.node').length > 2",
    ),
}
NEEDS = {"FxGraphDrawer": "pydot", "graphviz-anywidget": "graphviz_anywidget"}

PAINTED = """async ([condition, patience]) => {
    const end = Date.now() + patience * 1000, there = eval(condition);
    const frame = () => new Promise(requestAnimationFrame);
    while (!there()) { if (Date.now() > end) return null; await frame(); }
    await frame(); await frame();
    return Date.now() / 1000;
}"""
LAST = """(selector) => {
    const found = [...document.querySelector('.constviz .cv-pane').querySelectorAll(selector)];
    found.at(-1).focus();
}"""
CHANGED = """() => {
    const frame = () => new Promise(requestAnimationFrame);
    const pane = document.querySelector('.constviz .cv-pane');
    const count = () => pane.querySelectorAll('.cv-box').length;
    const before = count();
    window.changed = new Promise((done) => window.addEventListener('keydown', async (event) => {
        while (count() === before) {
            if (performance.now() - event.timeStamp > 20000) return done(null);
            await frame();
        }
        await frame(); await frame();
        done((performance.now() - event.timeStamp) / 1000);
    }, {once: true, capture: true}));
}"""
PAN = """async () => {
    const pane = document.querySelector('.constviz .cv-pane'), box = pane.getBoundingClientRect();
    const at = (k) => ({bubbles: true, pointerId: 1, isPrimary: true, button: 0, buttons: 1,
        clientX: box.left + box.width / 2 + 60 * Math.sin(k / 8),
        clientY: box.top + box.height / 2 + 60 * Math.cos(k / 8)});
    const frame = () => new Promise(requestAnimationFrame);
    pane.querySelector('svg').dispatchEvent(new PointerEvent('pointerdown', at(0)));
    const times = [];
    let last = await frame();
    for (let k = 1; k <= 90; k++) {
        pane.querySelector('svg').dispatchEvent(new PointerEvent('pointermove', at(k)));
        const now = await frame();
        times.push(now - last);
        last = now;
    }
    pane.querySelector('svg').dispatchEvent(new PointerEvent('pointerup', at(90)));
    return times;
}"""


# -- what the kernels run ----------------------------------------------------------------------------------------


def stack(nodes: int) -> tuple[Any, Any]:
    """A transformer whose capture has about so many nodes, each block with a fold, and an input for it."""
    import torch

    from .overhead import Block

    torch.manual_seed(0)
    layers = max(1, round(nodes / 33))
    return torch.nn.Sequential(*(Block(16, 2) for _ in range(layers))).requires_grad_(False), torch.randn(1, 4, 16)


def graph_of(net: Any, x: Any) -> Any:
    """The graph that Dynamo makes of it, folds and all."""
    import torch

    found = []

    def keep(gm: Any, inputs: Any) -> Any:
        found.append(gm)
        return gm.forward

    torch.compile(net, backend=keep)(x)
    torch.compiler.reset()
    return found[0]


# -- what the browser measures -----------------------------------------------------------------------------------


def measure(page: Any, lab: Lab, tool: str, nodes: int) -> dict[str, Any]:
    """One tool on one graph."""
    prepare, show, condition = SHOW[tool]
    name = f"{tool}-{nodes}.ipynb"
    lab.write(name, [CAPTURE.format(nodes=nodes) + prepare, show, "START"])
    page.goto(lab.address(name))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(
        "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )
    _run(page, 0)
    page.wait_for_function("() => document.querySelector('.jp-Cell .jp-OutputArea-output')", timeout=900_000)
    found: dict[str, Any] = {"nodes": int(_text(page, 0))}
    page.evaluate("() => { window.RUN = window.jupyterapp.shell.currentWidget.content }")
    _run(page, 1)
    end = page.evaluate(PAINTED, [condition, PATIENCE_S])
    if end is None:
        return found | {"painted": None}
    _run(page, 2)
    page.wait_for_function("() => document.querySelectorAll('.jp-Cell')[2].querySelector('.jp-OutputArea-output')")
    found["painted"] = end - float(_text(page, 2))
    if tool == "constviz":
        turns = [
            (_toggled(page, ".cv-group:not(.cv-absent)", "Enter"), _toggled(page, "[data-close]", "Enter"))
            for _ in range(5)
        ]
        found["open"], found["close"] = zip(*turns, strict=True)
        found["frames"] = page.evaluate(PAN)
    return found


def _toggled(page: Any, selector: str, key: str) -> float:
    """Seconds from a key on the last such box until the other drawing is painted."""
    page.evaluate(LAST, selector)
    page.evaluate(CHANGED)
    page.keyboard.press(key)
    return float(page.evaluate("() => window.changed"))


def _run(page: Any, index: int) -> None:
    page.evaluate(
        """(index) => {
            window.jupyterapp.shell.currentWidget.content.activeCellIndex = index;
            window.jupyterapp.commands.execute('notebook:run-cell');
        }""",
        index,
    )


def _text(page: Any, index: int) -> str:
    return str(page.locator(".jp-Cell").nth(index).locator(".jp-OutputArea-output").last.inner_text()).strip()


def main(argv: list[str] | None = None) -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--peers-up-to", type=int, default=5_700, help="nodes beyond which the peers are left out")
    options = parser.parse_args(argv)
    from playwright.sync_api import sync_playwright

    missed = False
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        lab = Lab(Path(home))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            print(f"{'tool':20}{'nodes':>7}{'painted s':>11}{'open s':>9}{'close s':>9}{'pan ms':>8}", flush=True)
            for nodes in options.sizes:
                for tool in SHOW:
                    if tool != "constviz" and nodes > options.peers_up_to:
                        continue
                    if tool in NEEDS and importlib.util.find_spec(NEEDS[tool]) is None:
                        print(f"{tool:20}  not installed")
                        continue
                    page = browser.new_page(viewport={"width": 1400, "height": 900})
                    page.set_default_timeout(600_000)
                    found = measure(page, lab, tool, nodes)
                    page.close()
                    missed |= _print(tool, found)
        finally:
            browser.close()
            lab.close()
    print(f"targets up to 5,700 nodes: painted {PAINTED_S} s, open and close {TOGGLE_S} s, pan {FRAME_MS} ms a frame")
    return int(missed)


def _print(tool: str, found: dict[str, Any]) -> bool:
    painted = f"> {PATIENCE_S}" if found["painted"] is None else f"{found['painted']:.2f}"
    line = f"{tool:20}{found['nodes']:7}{painted:>11}"
    if tool != "constviz" or found["painted"] is None:
        print(line, flush=True)
        return tool == "constviz"
    opened, closed, frame = (statistics.median(found[key]) for key in ("open", "close", "frames"))
    print(f"{line}{opened:9.2f}{closed:9.2f}{frame:8.1f}", flush=True)
    late = found["painted"] > PAINTED_S or max(opened, closed) > TOGGLE_S or frame > FRAME_MS
    return bool(late and found["nodes"] < 6_500)


if __name__ == "__main__":
    sys.exit(main())
