"""DOT text to SVG, by the Graphviz that pip brings or the one of the system."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from graphviz.backend import execute  # type: ignore[import-untyped]

__all__ = ["LayoutError", "engines", "svg", "svgs"]

_TIMEOUT = 120.0  # seconds; a graph of 150 boxes takes 0.05
_ID = re.compile(r'(<[A-Za-z][^<>]*?\sid=")([^"]*)"')
_REFERENCE = re.compile(r'(href="#|url\(#)([^")]*)')
_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
_NAN = re.compile(r"(?:^|[^a-z])nan\b")
_NUMBERS = ("cx", "cy", "d", "height", "points", "rx", "ry", "transform", "viewBox", "width", "x", "y")


class LayoutError(RuntimeError):
    """No Graphviz could draw the picture.  ``dot`` is its text, for any other tool that reads DOT."""

    def __init__(self, problem: str, dot: str) -> None:
        super().__init__(
            f"{problem}. To get pictures: pip install graphviz-pure, or install Graphviz so that `dot` is on the PATH; "
            "the DOT text is in this error's .dot"
        )
        self.dot = dot


def engines() -> list[str]:
    """The Graphviz programs on this machine, best first."""
    found = [_from_wheel(), shutil.which("dot")]
    return [path for path in found if path]


def svg(source: str, *, prefix: str = "") -> str:
    """Lay out DOT text and return an ``<svg>`` element.

    Args:
        source: the DOT text.
        prefix: put before every id, so that several pictures can stand in one page.

    Raises:
        LayoutError: no engine is there, or all fail on this graph.
    """
    problems = []
    for engine in engines():
        try:
            return _with_prefix(_strip(_checked(_run(engine, source))), prefix)
        except _EngineError as error:
            problems.append(f"{os.path.basename(engine)}: {error}")
    raise LayoutError("; ".join(problems) or "no Graphviz found", source)


def svgs(sources: Sequence[str]) -> list[str]:
    """Lay out many small graphs in one run of the engine, which takes longer to start than to draw one.

    Raises:
        LayoutError: no engine is there, or all fail on one of these graphs.
    """
    problems, source = [], "\n".join(sources)
    for engine in engines():
        try:
            found = _SVG.findall(_run(engine, source))
            if len(found) == len(sources):
                return [_strip(_checked(text)) for text in found]
            problems.append(f"{os.path.basename(engine)}: {len(found)} pictures of {len(sources)} graphs")
        except _EngineError as error:
            problems.append(f"{os.path.basename(engine)}: {error}")
    raise LayoutError("; ".join(problems) or "no Graphviz found", source)


class _EngineError(Exception):
    """One engine failed: the next may do."""


def _from_wheel() -> str | None:
    # Not through the PATH: the kernel of a virtual environment often has no bin/ of that environment on it.
    try:
        files = importlib.metadata.distribution("graphviz-pure").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        path = str(file.locate())
        if file.name in ("graphviz-pure", "graphviz-pure.exe") and os.access(path, os.X_OK):
            return path
    return None


def _run(engine: str, source: str) -> str:
    try:
        done = execute.run_check(
            [engine, "-Kdot", "-Tsvg"],
            input=source,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # warnings are about our attributes, not about the user's program
            timeout=_TIMEOUT,
            quiet=True,
        )
    except execute.CalledProcessError as error:
        raise _EngineError(_first_line(error.stderr) or f"exit code {error.returncode}") from None
    except (execute.ExecutableNotFound, OSError, subprocess.TimeoutExpired, UnicodeError) as error:
        raise _EngineError(_first_line(str(error))) from None
    return str(done.stdout)


def _checked(text: str) -> str:
    if "<svg" not in text:
        raise _EngineError("no usable picture")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise _EngineError(f"broken picture: {error}") from None
    # in numbers only: labels may say nan
    if any(_NAN.search(element.get(name, "")) for element in root.iter() for name in _NUMBERS):
        raise _EngineError("no usable picture")
    return text


def _strip(text: str) -> str:
    """The ``<svg>`` element alone: the header holds the engine's version, which would make every picture differ."""
    text = text[text.index("<svg") :]
    return re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL).strip()


def _with_prefix(text: str, prefix: str) -> str:
    if not prefix:
        return text
    text = _ID.sub(rf'\g<1>{prefix}\2"', text)
    return _REFERENCE.sub(rf"\g<1>{prefix}\2", text)


def _first_line(text: str | bytes | None) -> str:
    lines = (text.decode(errors="replace") if isinstance(text, bytes) else text or "").strip().splitlines()
    return lines[0] if lines else ""
