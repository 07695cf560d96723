"""How a report appears in a notebook: its picture and text, and below them, where something can answer, the widget."""
# mypy: allow-untyped-calls
# (IPython gives many of its functions no types)

from __future__ import annotations

import asyncio
import collections
import math
import os
import signal
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .display.html import as_frame
from .display.layout import LayoutError

if TYPE_CHECKING:
    from .display.widget import DiagramWidget
    from .report import FoldReport

__all__ = ["has_front_end", "in_main_thread", "make_widget", "show", "show_timings"]

_KEPT = 8
_recent: collections.deque[FoldReport] = collections.deque(maxlen=_KEPT)
"""Reports shown last, which nobody else may hold: their diagrams can still capture again."""

INSTALL = "python -m pip install anywidget ipywidgets"

VARIABLE = "CONSTVIZ_DISPLAY"
"""Environment variable: ``static`` for pictures alone, in notebooks that are to be published; ``page`` for diagrams
that need no kernel, in notebooks that are to be turned into a page."""

BUDGET = "CONSTVIZ_BUDGET_S"
"""Environment variable: seconds of timing under a ``%%constfold`` cell, in place of 2; 0 for none."""


def has_front_end() -> bool:
    """Whether this runs in a kernel, to which a front end with widgets may listen."""
    return os.environ.get(VARIABLE) != "static" and has_kernel()


def has_kernel() -> bool:
    """Whether the shell is that of a kernel."""
    return getattr(_shell(), "kernel", None) is not None


def show(report: FoldReport) -> None:
    """Display a report.

    In a kernel that makes two outputs.  The first is static, and is all that there is on GitHub, in a page made by
    nbconvert, or in a notebook opened without its kernel: a front end that prefers the widget would show an error in
    place of the other kinds in one bundle.  The second is the widget, which hides the first while it lives; or the
    report's whole page, in a frame.
    """
    from IPython.display import display

    bundle = report._repr_mimebundle_()
    display(bundle, raw=True)
    if not has_front_end():
        return
    if os.environ.get(VARIABLE) == "page":
        if "text/html" in bundle:  # else it cannot be drawn
            title = f"diagram of {report.comparison.function}"
            display({"text/html": as_frame(report._page(), title), "text/plain": title}, raw=True)
        return
    try:
        widget = report.widget
    except LayoutError:  # the text says why there is no picture
        return
    except ImportError as error:
        print(f"constviz: no interactive diagram: {error}; to install what it needs: {INSTALL}")
        return
    display(widget)
    _recent.append(report)


def show_timings(report: FoldReport, against: dict[str, Any]) -> None:
    """Measure and display how fast the variants are, in the time that ``CONSTVIZ_BUDGET_S`` allows."""
    from IPython.display import display

    budget_s = _budget_s()
    if budget_s <= 0:
        return
    found = report.timings(against, budget_s=budget_s)
    if has_kernel():
        display(found)
    else:  # nobody compares what a terminal shows
        print(found.table())


def _budget_s() -> float:
    told = os.environ.get(BUDGET, "")
    try:
        budget_s = float(told or 2.0)
    except ValueError:
        budget_s = math.nan
    if math.isfinite(budget_s):
        return budget_s
    print(f"constviz: {BUDGET} is no number of seconds: {told!r}; it takes 2")
    return 2.0


def make_widget(report: FoldReport) -> DiagramWidget:
    """The widget of a report; unticking a mark captures its program again, if it has one."""
    from .display.session import Progress
    from .display.widget import DiagramWidget
    from .model import Comparison

    weak = weakref.ref(report)  # widgets are kept for ever: a model and its inputs must not be

    def refold(names: tuple[str, ...], progress: Progress) -> Comparison:
        from .comparison import compare_again

        kept = weak()
        if kept is None or kept.program is None:
            raise RuntimeError("the report of this diagram is no longer kept; run its cell again")
        again = compare_again(kept.program, names, progress)
        shown = again.current
        kept.add_what_if(shown, again)
        return shown

    return DiagramWidget(
        report.current,
        plan=report.plan,
        refold=None if report.program is None else refold,
        schedule=in_main_thread,
        can_be_cancelled=_can_be_cancelled if has_kernel() else lambda: True,
    )


def in_main_thread(job: Callable[[], None]) -> None:
    """Run a job where cells run, between them: a capture must not meet a cell that changes what it reads.

    An interrupt of the kernel ends the job.
    """
    loop = getattr(getattr(_shell(), "kernel", None), "io_loop", None)
    if loop is None:
        job()
    else:
        loop.add_callback(_between_cells, loop, job)


def _between_cells(loop: Any, job: Callable[[], None]) -> None:
    """Run the job now, or once the cell is over that awaits something just now."""
    cell = _awaiting_cell()
    if cell is None:
        _interruptible(job)
    else:
        cell.add_done_callback(lambda over: loop.add_callback(_between_cells, loop, job))


def _awaiting_cell() -> asyncio.Task[Any] | None:
    """The task in which a cell runs that has given way to others."""
    run_cell = getattr(type(_shell()), "run_cell_async", None)
    code = getattr(run_cell, "__code__", None)
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # another kind of loop
        return None
    return next((task for task in tasks if getattr(task.get_coro(), "cr_code", None) is code), None)


def _can_be_cancelled() -> bool:
    """Whether further messages reach us while the main thread captures: if the front end sends them to a subshell."""
    parent: dict[str, Any] = getattr(_shell(), "get_parent", dict)() or {}
    return bool(parent.get("header", {}).get("subshell_id"))


def _interruptible(job: Callable[[], None]) -> None:
    # between cells a kernel ignores the signal: it would end its loop
    if threading.current_thread() is not threading.main_thread():
        job()
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        job()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):  # told in the widget; here they would end the kernel
        pass
    finally:
        signal.signal(signal.SIGINT, before)


def _shell() -> Any:
    import sys

    core = sys.modules.get("IPython")  # not imported for this: then there is none
    return core.get_ipython() if core is not None else None
