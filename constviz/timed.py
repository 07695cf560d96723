"""Timings of a program on its own inputs or on a sweep of them, with word of how far it is."""

from __future__ import annotations

import sys
from typing import Any

import torch

from .auditing import Program
from .display.timings import Record, Timings, timings
from .measuring import Settings, measure
from .sweeping import Sizes, programs_of

__all__ = ["time_program"]


def time_program(program: Program, function: str, sizes: Sizes | None, **settings: Any) -> Timings:
    """Measure, for each size.  An interrupt ends it early, with the rows measured so far."""
    chosen = Settings(**settings)
    programs = programs_of(program, sizes)
    rows, runs = [], {}
    progress = _Progress(len(programs))
    for size, one in programs.items():
        progress.tell(size)
        found, run = measure(one, chosen, size)
        rows += found
        runs[size] = run
        if run.stopped == "interrupted":
            break
    progress.end(len(runs))
    return timings(rows, Record(function, runs, torch.get_num_threads()))


class _Progress:
    """One line that changes, in a notebook or a terminal; nothing for a single set of inputs."""

    def __init__(self, count: int) -> None:
        self._count, self._done = count, 0
        self._label: Any = None

    def tell(self, size: str) -> None:
        self._done += 1
        if self._count > 1:
            self._show(f"timing {size}, {self._done} of {self._count}")

    def end(self, done: int) -> None:
        if self._count > 1:
            self._show(f"timed {done} of {self._count} sizes")
            if self._label is None and sys.stderr.isatty():
                print(file=sys.stderr)

    def _show(self, text: str) -> None:
        from .showing import has_front_end

        if has_front_end():
            if self._label is None:
                self._label = _displayed_label(f"timing {self._count} sizes")
            self._label.value = text
        elif sys.stderr.isatty():
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def _displayed_label(text: str) -> Any:
    """A line that can be changed.  Where there are no widgets, and for who compares outputs, ``text`` stands for it."""
    from IPython.display import display
    from ipywidgets import Label

    label = Label()
    bundle = label._repr_mimebundle_()
    display({**bundle, "text/plain": text}, raw=True)  # type: ignore[no-untyped-call]
    return label
