"""A report as one offline HTML page, with nothing to fetch: the diagram where it can be drawn, or tables and text."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from ..model import Comparison
from . import assets
from .drawing import slim
from .insides import insides, packed
from .payload import payload, plain
from .scene import Plan
from .stage import Stage

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["interactive_page", "page"]

_INSIDES = 450_000  # bytes of drawings of closed groups
_MANY = 12_000  # nodes; the details of more would take a megabyte, however packed

# light or dark as the reader's system is, and so is the diagram in it
_STYLE = """
:root { color-scheme: light dark; --ink: #111111; --back: #ffffff; --raised: #f6f6f6; --rule: #cccccc; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f5f5f5; --back: #111111; --raised: #1d1d1d; --rule: #555555; }
}
body { font-family: Helvetica, Arial, sans-serif; color: var(--ink); background: var(--back); margin: 2em; }
pre { background: var(--raised); padding: 1em; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85em; }
th, td { border: 1px solid var(--rule); padding: 0.25em 0.6em; text-align: left; overflow-wrap: anywhere; }
th { background: var(--raised); }
.scroll { overflow-x: auto; max-width: 100%; }
"""

_START = """
const saved = JSON.parse(document.getElementById("constviz-data").textContent);
try {
  const bytes = Uint8Array.from(atob(saved.packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  Object.assign(saved.data, await new Response(stream).json());
} catch (error) {
  console.warn("constviz: no search and no details in this browser", error);
}
mount(document.getElementById("constviz"), saved);
document.getElementById("constviz-picture").hidden = true;
"""


def interactive_page(
    comparison: Comparison,
    picture: str,
    text: str,
    extra: Mapping[str, pd.DataFrame] | None = None,
    plan: Plan | None = None,
) -> str:
    """The page with the diagram, which needs no kernel for what it shows.

    Args:
        comparison: what to show, with its assumptions as they are now.
        picture: trusted SVG, for a browser that runs no scripts.
        text: the report's text form.
        extra: more tables by name, such as timings.
        plan: the plan of the first drawing, if there is one already.

    Raises:
        LayoutError: no engine can draw it.
    """
    stage = Stage(comparison, "dynamo", plan)
    data = payload(comparison, stage.plan, stage=stage.name, extra=extra)
    data |= {"picture": "", "inner": insides(stage, _INSIDES)}
    saved = {"data": data, "view": stage.draw(stage.opening, 1), "packed": _told(stage)}
    script = f"{assets.module()}\n{_START}"
    body = [
        '<div id="constviz"></div>',
        f'<div id="constviz-picture" class="scroll">{slim(picture)}</div>',
        f"<pre>{escape(text)}</pre>",
        f'<script type="application/json" id="constviz-data">{_json(saved)}</script>',
        f'<script type="module">{script}</script>',
    ]
    allowed = f"script-src '{_digest(script)}'; style-src 'unsafe-inline'; img-src data: blob:"
    return _html(data["title"], body, allowed, assets.style())


def page(title: str, picture: str, text: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """The page without scripts.  ``picture`` is trusted SVG, or empty; everything else is escaped."""
    body = [f'<div class="scroll">{picture}</div>', f"<pre>{escape(text)}</pre>"]
    for name, frame in tables.items():
        body.append(f"<h2>{escape(name)}</h2>")
        table = frame.to_html(escape=True, na_rep="", border=0, index=frame.index.name is not None)
        body.append(f'<div class="scroll">{table}</div>' if len(frame) else "<p>none</p>")
    return _html(title, body, "style-src 'unsafe-inline'")


def _html(title: str, body: list[str], allowed: str, style: str = "") -> str:
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        # nothing else runs and nothing is fetched, whatever the text of a user's program says
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; {allowed}">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}{style}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *body,
    ]
    return "\n".join([*parts, "</body></html>", ""])


def _told(stage: Stage) -> str:
    """The search index, and the details of all nodes if they are not too many."""
    plan, told = stage.plan, {"nodes": stage.entries}
    if len(plan.nodes) > _MANY:
        return packed(plain(told))
    details = {name: stage.details(name) for name in dict.fromkeys([*stage.entries, *plan.nodes])}
    return packed(plain({**told, "details": details}))


def _json(value: Any) -> str:
    """JSON in which no text can end the script element that holds it.

    >>> _json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
