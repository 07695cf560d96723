"""What a constant tensor holds, in a few numbers and a small picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from ..model import Heat, Value

__all__ = ["with_statistics"]

_SIDE = 16
"""Blocks along each side of the picture, at most."""

_MANY = 1 << 24
"""Elements beyond which a tensor is left alone: to read it all would take longer than the capture."""


def with_statistics(value: Value, held: Any) -> Value:
    """The description of a tensor of real numbers with its statistics; of anything else, as it is."""
    if not isinstance(held, torch.Tensor) or held.layout is not torch.strided or held.device.type == "meta":
        return value
    if held.is_complex() or held.is_quantized or held.is_nested or not 1 < held.numel() <= _MANY:
        return value
    try:
        with torch.no_grad():
            data = held.detach().as_subclass(torch.Tensor).to("cpu", torch.float64)
            return replace(value, stats=tuple(_stats(data)), heat=_heat(data))
    except (RuntimeError, NotImplementedError, MemoryError):  # a tensor that holds no plain numbers
        return value


def _stats(data: torch.Tensor) -> list[tuple[str, str]]:
    finite = data[data.isfinite()]
    numbers = []
    if finite.numel():
        spread = finite.std(correction=0)
        numbers = [("min", finite.min()), ("max", finite.max()), ("mean", finite.mean()), ("std", spread)]
    found = [(name, f"{number.item():.6g}") for name, number in numbers]
    counts = [("zeros", data == 0), ("nan", data.isnan()), ("inf", data.isinf())]
    found += [(name, f"{int(mask.sum())} of {data.numel()}") for name, mask in counts if bool(mask.any())]
    return found


def _heat(data: torch.Tensor) -> Heat | None:
    """The last dimension runs along a row; the others are laid out below each other."""
    flat = data.reshape(-1, data.shape[-1]) if data.dim() > 1 else data.reshape(1, -1)
    known = flat.isfinite()
    if not bool(known.any()):
        return None
    low, high = flat[known].min(), flat[known].max()
    scaled = torch.where(known, (flat - low) / (high - low) if high > low else torch.zeros_like(flat), 0.0)
    rows, cols = min(_SIDE, flat.shape[0]), min(_SIDE, flat.shape[1])
    shares = _blocks(known.double(), rows, cols)
    means = _blocks(scaled, rows, cols) / shares
    blocks = zip(means.tolist(), shares.tolist(), strict=True)
    return Heat(rows, cols, tuple(None if share == 0 else round(mean, 3) for mean, share in blocks))


def _blocks(data: torch.Tensor, rows: int, cols: int) -> torch.Tensor:
    """The mean over each block, as one row of numbers."""
    return torch.nn.functional.adaptive_avg_pool2d(data[None, None], (rows, cols)).flatten()
