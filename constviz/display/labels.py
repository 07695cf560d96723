"""The words on a picture: short names, shapes, and text from user code made safe for DOT and SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import graphviz  # type: ignore[import-untyped]

from ..model import Dim, Fold, Node, Role

__all__ = ["brief_type", "clean", "dot_text", "fold_call", "middle", "node_label", "op_name", "text_width", "whole"]

_DTYPES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}
_DTYPE = re.compile(r"^(float|bfloat|int|uint|complex)(\d+)$")
_KNOWN = str.maketrans("", "", "…−")  # ours, one at most in a line: no need for room
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def whole(text: str) -> str:
    """The same without lone surrogates, which a user's string may hold and UTF-8 cannot."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean(text: str) -> str:
    """One line of characters that XML allows; those that turn text around, unseen, are shown as their numbers.

    >>> clean("a\\n\\tb\\x00")
    'a b'
    >>> clean("eval\\u202e(x)")
    'eval⟨U+202E⟩(x)'
    """
    text = _TURNING.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def middle(text: str, width: int = 36) -> str:
    """Long text with its middle left out: the beginning and the end tell more.

    >>> middle("scaled_dot_product_attention_with_mask", 20)
    'scaled_dot…with_mask'
    """
    if len(text) <= width:
        return text
    head = width // 2
    return text[:head] + "…" + text[len(text) - (width - head - 1) :]


def dot_text(lines: Iterable[str]) -> str:
    """Lines of any text as one DOT string: no escape, entity, HTML label or line break in them takes effect."""
    safe = (graphviz.escape(clean(line).replace("&", "&amp;")) for line in lines)
    text: str = graphviz.nohtml("\\n".join(safe))
    return text


def text_width(lines: Iterable[str], points: float = 10.0) -> float | None:
    """Inches that the widest line needs; None for plain ASCII, whose widths the layout engine knows."""
    lines = [clean(line) for line in lines]
    if all(line.translate(_KNOWN).isascii() for line in lines):
        return None
    em = max(sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.56 for c in line) for line in lines)
    return round(em * points / 72 + 0.2, 2)


def brief_type(shape: tuple[Dim, ...] | None, dtype: str | None) -> str:
    """A tensor's type as FX prints it.

    >>> brief_type((2, "s0"), "float32")
    'f32[2, s0]'
    """
    if shape is None:
        return ""
    match = _DTYPE.match(dtype or "")
    short = f"{_DTYPES[match[1]]}{match[2]}" if match else dtype or ""
    return f"{short}[{', '.join(map(str, shape))}]"


def op_name(node: Node) -> str:
    """The operation's short name.

    >>> op_name(Node("mm", "call_function", "aten.mm.default"))
    'mm'
    >>> op_name(Node("gelu", "call_function", "torch._C._nn.gelu"))
    'gelu'
    """
    if node.role is Role.OUTPUT:
        return "output"
    if node.op == "placeholder":
        return node.target or node.name
    parts = node.target.split(".")
    return parts[1] if parts[0] in ("aten", "prims") and len(parts) > 1 else parts[-1] or node.name


def fold_call(fold: Fold) -> str:
    """The call as it was folded: ``table(n=4)``."""
    arguments = ", ".join(f"{a.name}={a.value.text}" for a in fold.arguments if a.name != "self")
    return f"{fold.function}({arguments})"


def node_label(node: Node) -> tuple[str, ...]:
    """Name and type, or for a constant its value."""
    if node.role is Role.CONSTANT and node.value is not None:
        return middle(op_name(node)), middle(f"= {node.value.text}")
    kind = brief_type(node.shape, node.dtype)
    return (middle(op_name(node)), middle(kind)) if kind else (middle(op_name(node)),)
