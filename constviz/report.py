"""FoldReport: what one comparison found, to look at, to ask for tables, and to save."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .analysis.verdicts import worst
from .display import tables
from .display.dot import diagram
from .display.html import as_html
from .display.layout import LayoutError
from .display.page import interactive_page, page
from .display.payload import picture_name
from .display.picture import picture, small_picture
from .display.stage import plan_of
from .display.text import text
from .model import LEAD, Assumption, Comparison, Variant, Verdict
from .naming import marks_in_words
from .saved import ReportFileError, from_json, to_json

if TYPE_CHECKING:
    import graphviz  # type: ignore[import-untyped]
    import pandas as pd

    from .alternatives import Against
    from .auditing import Program
    from .capture.live import LiveCapture
    from .display.scene import Plan
    from .display.timings import Timings
    from .display.widget import DiagramWidget
    from .sweeping import Sizes

__all__ = ["FoldReport", "load"]


class FoldReport:
    """What ``assume_constant_result`` did to one call of one function.

    In a notebook a report shows its picture, in a terminal its text.  It is what :func:`constviz.compare` returns
    and :func:`constviz.load` reads.

    >>> report = FoldReport(Comparison("f", {"before": Variant("before"), "after": Variant("after")}))
    >>> list(report.folds.columns)[:3]
    ['function', 'location', 'arguments']
    """

    def __init__(self, comparison: Comparison, live: LiveCapture | None = None, program: Program | None = None) -> None:
        self._comparison = comparison
        self._live = live
        self._program = program
        self._what_ifs: list[tuple[Comparison, FoldReport]] = []

    @property
    def comparison(self) -> Comparison:
        """The data behind it all."""
        return self._comparison

    @property
    def variants(self) -> dict[str, Variant]:
        """The captured variants by name: ``eager``, ``before``, ``after``."""
        return dict(self._comparison.variants)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know besides, such as why nothing was folded."""
        return self._comparison.notes

    @property
    def summary(self) -> pd.DataFrame:
        """One row a variant: ``graphs, graph_breaks, ops, constants, constant_bytes, guards, compile_s``."""
        return tables.summary(self._comparison)

    @property
    def folds(self) -> pd.DataFrame:
        """One row a call of a marked function: what it gave, and what became of it.

        ``id`` is what ``widget.selected`` is when its result is chosen, be it a node or a number that the graph holds
        as a literal; empty if nothing was folded.
        """
        return tables.folds(self._comparison, ids=True)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the folds; ``not_folded`` if nothing was folded."""
        return worst(f.verdict for v in self._comparison.variants.values() for f in v.folds if f.verdict)

    @property
    def assumptions(self) -> pd.DataFrame:
        """One row for each thing the compiled program takes for granted, with its value now.

        Columns ``function, expression, guard, expected, current, holds``.  A report that was made here reads the
        values again each time; one that was loaded has those of when it was saved.  ``guard`` is ``lead`` for what
        the bytecode of an untraceable function names: a hint, not a proof, so ``holds`` is empty.
        """
        return tables.assumptions(self._assumptions())

    @property
    def current(self) -> Comparison:
        """The data of this report, whatever its diagram shows, with the assumptions as they are now."""
        return replace(self._comparison, assumptions=self._assumptions())

    @property
    def program(self) -> Program | None:
        """What can be called again; None for a report that was loaded."""
        return self._program

    @functools.cached_property
    def widget(self) -> DiagramWidget:
        """The interactive diagram that a notebook shows, wherever it is shown: ``widget.selected`` is the node chosen.

        After a what-if it shows another capture than this report: that one's report is :attr:`shown`.

        Raises:
            LayoutError: no Graphviz can draw it.
        """
        from .showing import make_widget

        return make_widget(self)

    @property
    def shown(self) -> FoldReport:
        """The report of what the diagram shows: another one than this after marks were ticked or unticked there."""
        return next((made for made in self._what_ifs if self._is_shown(made[0])), (None, self))[1]

    def add_what_if(self, shown: Comparison, report: FoldReport) -> None:
        """Keep the report of a capture that the diagram is about to show as ``shown``."""
        self._what_ifs = [made for made in self._what_ifs if self._is_shown(made[0])] + [(shown, report)]

    def _is_shown(self, comparison: Comparison) -> bool:
        widget: DiagramWidget | None = self.__dict__.get("widget")
        return widget is not None and widget.comparison is comparison

    @property
    def live(self) -> LiveCapture | None:
        """What reads the assumptions again; None for a report that was loaded."""
        return self._live

    def audit(
        self,
        calls: Iterable[tuple[Any, ...]] | None = None,
        repeats: int = 3,
        change: Callable[[], object] | None = None,
    ) -> pd.DataFrame:
        """Each variant against eager, over several calls of code that is compiled once.

        Args:
            calls: arguments of further calls, a tuple for each.  Default: the report's own inputs ``repeats`` times,
                then once with other values in its tensors.
            repeats: how often the report's own inputs are used.
            change: a function that changes the program's state; it is run after the first call, and undone at the end.

        Returns:
            Columns ``call, variant, equal, max_abs_error, note``, one row a call and variant.  The first
            counter-example of a variant is told in full in its ``note``.

        Raises:
            RuntimeError: the report was loaded from a file, so there is no program to call.
        """
        if self._program is None:
            raise RuntimeError("a loaded report has no program to call; make it anew with constviz.compare")
        return tables.audit(self._program.audit(calls, repeats, change))

    def timings(
        self,
        against: Against | None = None,
        *,
        sizes: Sizes | None = None,
        backward: bool = False,
        budget_s: float = 2.0,
        precision: float = 0.005,
        flush_l2: bool = False,
        seed: int = 0,
    ) -> Timings:
        """How fast the variants are, measured now: ``eager``, ``before``, ``after``, and each alternative.

        Blocks of calls of all variants are timed in turns, in random order; ``speedup`` is the median over rounds of
        the ratio to ``before`` within a round.  Each variant is first checked against eager.

        Args:
            against: other ways to write the same thing: a function, several, or a dictionary of them by name;
                ``(function, args)`` for one with its own arguments.  Plain functions are compiled as the program is.
            sizes: lengths for the first dimension of tensors, or argument tuples: a block of rows for each.
                Alternatives with their own arguments keep those.
            backward: time forward and backward.
            budget_s: seconds to spend on calls, for each size.  Compiling comes on top.
            precision: stop before that if the intervals of all ratios are narrower than this part to each side.
            flush_l2: push everything out of the accelerator's cache before each call.
            seed: of the order of the calls and of the intervals.

        Returns:
            A DataFrame indexed by variant (by size and variant): ``device, median_us, low_us, high_us, speedup,
            speedup_low, speedup_high, host_us, kernels, peak_bytes, compile_s, result, note``.  Intervals are to hold
            the truth in 95 of 100 cases.  ``result`` is ``faster``, ``slower`` or ``no difference``; ``not equal`` or
            ``failed``, with the reason in ``note``, where there is nothing to compare.  ``.parts`` says where the
            time goes, ``.samples`` and ``.record`` how it was measured.  A loaded report has the table saved with it.

        Raises:
            RuntimeError: the report was loaded from a file, and has no timings in it.
            TypeError: ``against`` or ``sizes`` holds something of another kind.
        """
        from .display.timings import Record, timings

        if self._program is None:
            if not self._comparison.timings or against is not None or sizes is not None or backward:
                raise RuntimeError("a loaded report has no program to time; make it anew with constviz.compare")
            return timings(self._comparison.timings, Record(self._comparison.function))
        from .timed import time_program

        how = {"backward": backward, "budget_s": budget_s, "precision": precision, "flush_l2": flush_l2, "seed": seed}
        found = time_program(self._program, self._comparison.function, sizes, against=against, **how)
        self._comparison = replace(self._comparison, timings=tuple(found.rows))
        if "widget" in self.__dict__:
            self.widget.add_table("timings", found)
        return found

    @property
    def graph_breaks(self) -> pd.DataFrame:
        """One row a graph break: ``variant, reason, location, hint``."""
        return tables.graph_breaks(self._comparison)

    @property
    def guards(self) -> pd.DataFrame:
        """One row a guard: ``variant, type, expression, value``."""
        return tables.guards(self._comparison)

    def nodes(self, stage: str = "dynamo") -> pd.DataFrame:
        """One row a node of before or after; ``status`` is ``kept``, ``removed``, ``added`` or ``constant``.

        ``id`` is what ``widget.selected`` is when the node is chosen.  A folded number is no node: its id is in
        :attr:`folds`.
        """
        return tables.nodes(self._comparison, stage)

    def diagram(self, stage: str = "dynamo", view: str = "diff") -> graphviz.Digraph:
        """The graphs as DOT.  ``view`` is ``before``, ``after`` or ``diff``; all three have one layout."""
        return diagram(self._comparison, stage, view)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; its suffix says how.

        ``.json`` can be read back by :func:`constviz.load`; ``.html`` is one page that works offline; ``.svg`` and
        ``.dot`` are the picture.

        Raises:
            ValueError: another suffix.
            LayoutError: ``.svg``, and no Graphviz can draw it.
        """
        target = Path(path)
        writers: dict[str, Callable[[], str]] = {
            ".json": lambda: to_json(self.current, indent=1),
            ".html": self._page,
            ".svg": lambda: _standalone(self._picture()),
            ".dot": lambda: str(self.diagram().source),
        }
        writer = writers.get(target.suffix.lower())
        if writer is None:
            raise ValueError(f"cannot save a report as {target.name!r}: use one of {', '.join(writers)}")
        content = writer()  # first, so that a failure leaves no empty file
        # surrogates, as a user's string may hold them, have no place in UTF-8
        target.write_bytes(content.encode("utf-8", "replace"))

    def _assumptions(self) -> tuple[Assumption, ...]:
        rows = self._comparison.assumptions
        return rows if self._live is None else (*self._live.read(), *(row for row in rows if row.guard == LEAD))

    # -- display -------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if (shown := self.shown) is self:
            return text(self._comparison)
        told = marks_in_words(shown.comparison.marks)
        return f"{text(self._comparison)}\n\nthe diagram shows another capture, {told}: report.shown is its report"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        # The picture stands twice.  An untrusted JupyterLab shows no SVG, but does show an <img> in HTML; and a
        # viewer shows only one of the kinds, so the HTML has the text too.
        bundle = {"text/plain": repr(self)}
        try:
            bundle["image/svg+xml"] = self._small
            name = picture_name(self._comparison)
            bundle["text/html"] = as_html(bundle["image/svg+xml"], bundle["text/plain"], name)
        except LayoutError as error:
            problem = str(error).split("; the DOT text", 1)[0]
            bundle["text/plain"] += f"\n\nno picture: {problem}; report.diagram().source is the DOT text"
        wanted = set(include or bundle) - set(exclude or ())
        return {kind: content for kind, content in bundle.items() if kind in wanted}

    def _ipython_display_(self) -> None:
        from .showing import has_front_end, show

        if not has_front_end():
            raise NotImplementedError  # IPython then asks for the bundle
        show(self)

    def _picture(self) -> str:
        return picture(self.plan.diff, _title(self._comparison))

    @functools.cached_property
    def plan(self) -> Plan:
        """What can be drawn of before and after."""
        return plan_of(self._comparison)

    @functools.cached_property  # a cell that shows a report and saves it draws it once
    def _small(self) -> str:
        return small_picture(self.plan, _title(self._comparison))

    def _page(self) -> str:
        try:
            return interactive_page(self.current, self._small, text(self._comparison), plan=self.plan)
        except LayoutError:  # then a page of tables
            names = ("summary", "folds", "assumptions", "graph_breaks", "guards")
            frames = {name.replace("_", " "): getattr(self, name) for name in names}
            return page(_title(self._comparison), "", text(self._comparison), frames | {"nodes": self.nodes()})


def _title(comparison: Comparison) -> str:
    return f"{comparison.function}: before and after assume_constant_result"


def _standalone(svg: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'


def load(path: str | os.PathLike[str]) -> FoldReport:
    """Read a report that was saved as ``.json``.  Nothing is run.

    Raises:
        FileNotFoundError: there is no such file.
        ReportFileError: the file is no report, is damaged, or was written by a newer constviz.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"no report to load: {source} is {'a folder' if source.is_dir() else 'not there'}")
    try:
        return FoldReport(from_json(source.read_bytes()))
    except ReportFileError as error:
        how = "" if source.suffix == ".json" else "; constviz.load reads what report.save wrote as .json"
        raise ReportFileError(f"{source.name}: {error}{how}") from None
