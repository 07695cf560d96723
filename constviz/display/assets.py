"""The front end: the files of ``static/`` as one ES module and one style sheet."""

from __future__ import annotations

import functools
import re
from importlib import resources
from importlib.resources.abc import Traversable

__all__ = ["AssetError", "module", "style"]

_ORDER = "order.txt"
_COMMENT = re.compile(r"/\*[^/]*\*/")


class AssetError(RuntimeError):
    """A file of the front end is missing: constviz was not installed whole."""


@functools.cache
def module() -> str:
    """The ES module: the scripts in the order of ``order.txt``."""
    return "\n".join(_lean(_read(name)) for name in _read(_ORDER).split() if name.endswith(".js"))


@functools.cache
def style() -> str:
    """The style sheet: those of ``order.txt``, or all that there are."""
    named = [name for name in _read(_ORDER).split() if name.endswith(".css")]
    there = sorted(file.name for file in _folder().iterdir() if file.name.endswith(".css"))
    return "\n".join(_lean(_read(name)) for name in named or there)


def _folder() -> Traversable:
    return resources.files("constviz.display") / "static"


def _read(name: str) -> str:
    try:
        return (_folder() / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AssetError(f"constviz/display/static/{name} is missing; install constviz again") from None


def _lean(text: str) -> str:
    """Without indentation and comments that have a line of their own: every saved notebook holds a copy."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//") and not _COMMENT.fullmatch(line))
