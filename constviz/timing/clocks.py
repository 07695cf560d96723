"""Clocks: how long some calls took, by the wall and on the device they ran on."""

from __future__ import annotations

import itertools
import os
import platform
import time
from collections.abc import Callable
from typing import Any, Protocol

import torch

__all__ = ["Clock", "EventClock", "WallClock", "clock_for"]

_MEBIBYTE = 2**20


class Clock(Protocol):
    """Times a block of calls."""

    device: str
    """Name of the device whose time is taken."""
    block_s: float
    """How long a block should last: long beside the cost of starting and stopping, short beside drifts of the machine.

    The wall clock's was measured: at equal total time, many blocks of 0.2 ms gave narrower intervals than few of 5 ms.
    """

    def time(self, call: Callable[[], Any], calls: int) -> tuple[float, float]:
        """Microseconds a call: on the device, and until the host was free again."""

    def drain(self) -> None:
        """Wait until the device has nothing left to do."""


class WallClock:
    """Time on the CPU.  What the host takes and what the device takes is the same."""

    block_s = 0.25e-3

    def __init__(self) -> None:
        self.device = cpu_name()

    def time(self, call: Callable[[], Any], calls: int) -> tuple[float, float]:
        again = itertools.repeat(None, calls)
        start = time.perf_counter_ns()
        for _ in again:
            call()
        taken = (time.perf_counter_ns() - start) / calls / 1e3
        return taken, taken

    def drain(self) -> None:
        pass


class EventClock:
    """Time on an accelerator, by a pair of events around the block; the host's time by the wall.

    With ``flush`` each call finds the cache of the device cold, and has events of its own.
    """

    block_s = 1e-3

    def __init__(self, device: torch.device, flush: bool = False) -> None:
        self._device = device
        self.device = _accelerator_name(device)
        self._waste = torch.empty(_cache_bytes(device), dtype=torch.int8, device=device) if flush else None

    def time(self, call: Callable[[], Any], calls: int) -> tuple[float, float]:
        if self._waste is not None:
            return self._time_cold(call, calls)
        start, end = self._events()
        again = itertools.repeat(None, calls)
        self.drain()
        start.record()
        host = time.perf_counter_ns()
        for _ in again:
            call()
        host = time.perf_counter_ns() - host
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / calls, host / calls / 1e3

    def _time_cold(self, call: Callable[[], Any], calls: int) -> tuple[float, float]:
        assert self._waste is not None
        pairs = [self._events() for _ in range(calls)]
        host = 0
        self.drain()
        for start, end in pairs:
            self._waste.zero_()
            start.record()
            begin = time.perf_counter_ns()
            call()
            host += time.perf_counter_ns() - begin
            end.record()
        self.drain()
        return sum(start.elapsed_time(end) for start, end in pairs) * 1e3 / calls, host / calls / 1e3

    def drain(self) -> None:
        torch.accelerator.synchronize(self._device)

    def _events(self) -> tuple[torch.Event, torch.Event]:
        return torch.Event(self._device, enable_timing=True), torch.Event(self._device, enable_timing=True)


def clock_for(device: torch.device, flush: bool = False) -> Clock:
    """The clock of a device."""
    return WallClock() if device.type == "cpu" else EventClock(device, flush)


def cpu_name() -> str:
    """``cpu``, and its name where the system tells it."""
    name = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
            name = next(names, name)
    return f"cpu ({name})" if name else "cpu"


def _accelerator_name(device: torch.device) -> str:
    ask = getattr(getattr(torch, device.type, None), "get_device_name", None)
    told = ask(device) if ask else ""
    return f"{device.type} ({told})" if told else device.type


def _cache_bytes(device: torch.device) -> int:
    """Enough to push everything else out of the last cache of the device."""
    if device.type == "cuda":
        known = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
        return max(2 * int(known), 32 * _MEBIBYTE)
    return 256 * _MEBIBYTE
