"""A report as one offline HTML page: the picture, the tables and the text, with nothing to fetch or run."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["page"]

_STYLE = """
body { font-family: Helvetica, Arial, sans-serif; color: #111111; background: #ffffff; margin: 2em; }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85em; }
th, td { border: 1px solid #cccccc; padding: 0.25em 0.6em; text-align: left; overflow-wrap: anywhere; }
th { background: #eeeeee; }
.scroll { overflow-x: auto; max-width: 100%; }
"""


def page(title: str, picture: str, text: str, tables: dict[str, pd.DataFrame]) -> str:
    """The page.  ``picture`` is trusted SVG, or empty; everything else is escaped."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        # nothing runs and nothing is fetched, whatever the text of a user's program says
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<div class="scroll">{picture}</div>',
        f"<pre>{escape(text)}</pre>",
    ]
    for name, frame in tables.items():
        parts.append(f"<h2>{escape(name)}</h2>")
        body = frame.to_html(escape=True, na_rep="", border=0, index=frame.index.name is not None)
        parts.append(f'<div class="scroll">{body}</div>' if len(frame) else "<p>none</p>")
    return "\n".join([*parts, "</body></html>", ""])
