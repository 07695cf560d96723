"""Dynamo's names for values, put back into the user's words: ``G['CFG']['scale']`` is ``CFG['scale']``."""

from __future__ import annotations

import functools
import re

__all__ = ["readable"]

_STEPS = [
    (re.compile(r"___get_torch_function_mode_stack_at\(\d+\)\.device"), "torch.get_default_device()"),
    (re.compile(r"\bos(['\"]\])?\.environ\._data\[b(?=['\"])"), r"os\1.environ["),
    (re.compile(r"\bos(['\"]\])?\.environ\._data\b"), r"os\1.environ"),
    (re.compile(r"\b[LG]\[(['\"])([^'\"]+)\1\]"), r"\2"),
    (re.compile(r"\.__dict__\[(['\"])(\w+)\1\]"), r".\2"),
    (re.compile(r"\._(?:modules|parameters|buffers)\[(['\"])([A-Za-z_]\w*)\1\]"), r".\2"),
    (re.compile(r"\._(?:modules|parameters|buffers)\[(['\"])([^'\"]+)\1\]"), r"[\2]"),
    (re.compile(r"(?<=[\w\])])\._(?:modules|parameters|buffers)\b(?!\[)"), ""),
]


@functools.lru_cache(maxsize=8192)
def readable(name: str) -> str:
    """The expression behind a Dynamo source name.

    >>> readable("G['CFG']['scale']")
    "CFG['scale']"
    >>> readable("L['self']._modules['layers']._modules['0']._parameters['weight']")
    'self.layers[0].weight'
    """
    for pattern, replacement in _STEPS:
        name = pattern.sub(replacement, name)
    return name
