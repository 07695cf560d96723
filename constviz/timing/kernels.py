"""What one call does on an accelerator: the kernels it launches, and the memory it takes at most."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["kernels_of", "peak_bytes_of"]

_COPIES = ("Memcpy", "Memset")


def kernels_of(call: Callable[[], Any], device: torch.device) -> list[str] | None:
    """Names of the kernels that a call launches, as the profiler of torch saw them; None on a CPU."""
    activity = getattr(torch.profiler.ProfilerActivity, device.type.upper(), None)
    if device.type == "cpu" or activity is None:
        return None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, activity]) as profile:
        call()
        torch.accelerator.synchronize(device)
    on_device = [e for e in profile.events() or () if str(e.device_type).rsplit(".", 1)[-1].lower() == device.type]
    # annotations that the profiler copies to the device's row are no kernels
    names = [e.name for e in on_device if not getattr(e, "is_user_annotation", False)]
    return [name for name in names if not name.startswith(_COPIES) and not name.startswith("## Call")]


def peak_bytes_of(call: Callable[[], Any], device: torch.device) -> int | None:
    """Bytes that the allocator of an accelerator gives out at most during a call, beyond those before it."""
    if device.type == "cpu":
        return None
    with contextlib.suppress(RuntimeError, NotImplementedError, AttributeError):  # not every accelerator counts
        torch.accelerator.synchronize(device)
        torch.accelerator.reset_peak_memory_stats(device)
        before = torch.accelerator.memory_allocated(device)
        result = call()
        torch.accelerator.synchronize(device)
        del result
        return int(torch.accelerator.max_memory_allocated(device)) - int(before)
    return None
