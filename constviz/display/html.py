"""A report as a piece of HTML that a notebook's sanitizer leaves whole: the picture as an image, and the text."""

from __future__ import annotations

import base64
import html

__all__ = ["as_html"]

_PRE = '<pre style="font-family:monospace">'
"""Some pages, nbconvert's among them, set a proportional font for all output."""


def as_html(svg: str, text: str, name: str = "diagram") -> str:
    """The picture as a data URI, called ``name``, and the text below it.

    >>> as_html("<svg/>", "a < b")
    '<img alt="diagram" src="data:image/svg+xml;base64,PHN2Zy8+"/><pre style="font-family:monospace">a &lt; b</pre>'
    """
    data = base64.b64encode(svg.encode("utf-8", "replace")).decode()
    return f'<img alt="{html.escape(name)}" src="data:image/svg+xml;base64,{data}"/>{_PRE}{html.escape(text)}</pre>'
