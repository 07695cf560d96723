"""A report as a piece of HTML that a notebook's sanitizer leaves whole: the picture as an image, and the text."""

from __future__ import annotations

import base64
import html

__all__ = ["FRAME", "as_frame", "as_html"]

FRAME = '<iframe class="constviz-page"'
"""How the HTML of :func:`as_frame` begins."""

_PRE = '<pre style="font-family:monospace">'
"""Some pages, nbconvert's among them, set a proportional font for all output."""


def as_html(svg: str, text: str, name: str = "diagram") -> str:
    """The picture as a data URI, called ``name``, and the text below it.

    >>> as_html("<svg/>", "a < b")
    '<img alt="diagram" src="data:image/svg+xml;base64,PHN2Zy8+"/><pre style="font-family:monospace">a &lt; b</pre>'
    """
    data = base64.b64encode(svg.encode("utf-8", "replace")).decode()
    return f'<img alt="{html.escape(name)}" src="data:image/svg+xml;base64,{data}"/>{_PRE}{html.escape(text)}</pre>'


def as_frame(page: str, title: str) -> str:
    """A whole page inside of another: it keeps its own rules on scripts, and reaches nothing around it.

    >>> as_frame("<p>", "f")[-30:]
    '" srcdoc="&lt;p&gt;"></iframe>'
    """
    look = "width: 100%; height: 820px; border: 1px solid #cccccc"
    allowed = f'sandbox="allow-scripts allow-downloads" style="{look}"'
    return f'{FRAME} title="{html.escape(title)}" {allowed} srcdoc="{html.escape(page)}"></iframe>'
