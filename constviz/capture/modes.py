"""The modes of torch that a function runs under and may ask for: grad mode and autocast."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

__all__ = ["ambient_modes", "under"]


def ambient_modes() -> Any:
    """The present modes, for :func:`under`."""
    autocast = []
    for device in ("cpu", "cuda"):
        if device == "cpu" or torch.cuda.is_available():
            autocast.append((device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)))
    return torch.is_grad_enabled(), autocast


def under(modes: Any) -> contextlib.ExitStack:
    """A context with those modes."""
    stack = contextlib.ExitStack()
    if modes is not None:
        grad, autocast = modes
        stack.enter_context(torch.set_grad_enabled(grad))
        for device, enabled, dtype in autocast:
            stack.enter_context(torch.autocast(device, dtype=dtype, enabled=enabled))
    return stack
