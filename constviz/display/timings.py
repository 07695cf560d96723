"""Timings as a DataFrame: numbers for whoever computes with them, a styled table to look at, and words as text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..model import Timing
from .labels import clean, middle

if TYPE_CHECKING:
    from ..timing.rounds import Run

__all__ = ["COLUMNS", "Record", "Timings", "timings"]

COLUMNS = (
    "device", "median_us", "low_us", "high_us", "speedup", "speedup_low", "speedup_high", "host_us", "kernels",
    "peak_bytes", "compile_s", "result", "note",
)  # fmt: skip
_PARTS = ("guards_us", "guards_low_us", "guards_high_us", "graphs_us", "python_us")
_WHOLE = {"kernels": "Int64", "peak_bytes": "Int64"}
_TEXT = ("device", "result", "note")


@dataclass(frozen=True)
class Record:
    """How timings came about, for whoever wants to check."""

    function: str = ""
    runs: Mapping[str, Run] = field(default_factory=dict)
    """What was measured, by size: samples, calls in a block, rounds, seed."""
    threads: int | None = None
    """Threads that an operation may use on the CPU."""


class Timings(pd.DataFrame):
    """One row a variant, or a size and variant.  An ordinary DataFrame, but for how it looks.

    As text it carries no numbers, which change from run to run; ``to_string()`` does.
    """

    _metadata = ["record", "_rows"]
    record: Record = Record()
    _rows: tuple[Timing, ...] = ()

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame  # a part of it is a plain frame

    @property
    def rows(self) -> tuple[Timing, ...]:
        """The same as data."""
        return self._rows

    @property
    def rounds(self) -> dict[str, int]:
        """Rounds that were counted, by size."""
        return {size: run.rounds for size, run in self.record.runs.items()}

    @property
    def samples(self) -> pd.DataFrame:
        """The raw samples: one row a round, ``size, round``, one column a variant, in microseconds a call."""
        frames = {size: pd.DataFrame(dict(run.device_us)) for size, run in self.record.runs.items()}
        if not frames:
            return pd.DataFrame(index=pd.MultiIndex.from_arrays([[], []], names=["size", "round"]))
        return pd.concat(frames, names=["size", "round"])

    @property
    def parts(self) -> pd.DataFrame:
        """Where the time of the host goes, in microseconds a call.

        ``guards_us``: the difference to calls in which Dynamo skips them (``skip_guard_eval_unsafe``), with its
        interval; beside long calls a short time is lost in their noise.  ``graphs_us``: by a clock inside of the call,
        around each compiled graph; on an accelerator that is launching its kernels.  ``python_us``: what is left, such
        as calling conventions and the Python between two graphs.
        """
        rows = [[getattr(row, name) for name in _PARTS] for row in self._rows]
        return pd.DataFrame(rows, index=_index(self._rows), columns=list(_PARTS), dtype="float64")

    def plot_speedup(self, ax: Any = None) -> Any:
        """Plot the speed-up with its interval against the size, one line a variant; returns matplotlib's ``Axes``.

        Raises:
            ImportError: matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("a plot needs matplotlib: python -m pip install matplotlib") from error
        ax = pyplot.subplots()[1] if ax is None else ax
        sizes = list(dict.fromkeys(row.size for row in self._rows))
        for name in dict.fromkeys(row.variant for row in self._rows):
            rows = {row.size: row for row in self._rows if row.variant == name and row.speedup is not None}
            if name != "before" and rows:
                places = [sizes.index(size) for size in rows]
                middle_ = [row.speedup or 0.0 for row in rows.values()]
                down = [m - (r.speedup_low or m) for m, r in zip(middle_, rows.values(), strict=True)]
                up = [(r.speedup_high or m) - m for m, r in zip(middle_, rows.values(), strict=True)]
                ax.errorbar(places, middle_, yerr=[down, up], marker="o", capsize=3, label=name)
        ax.axhline(1.0, color="gray", linewidth=1)
        ax.set_xticks(range(len(sizes)), sizes)
        ax.set_xlabel("size")
        ax.set_ylabel("speed-up over before")
        ax.legend()
        return ax

    def table(self) -> str:
        """The numbers as text, in fewer columns than ``to_string()`` has."""
        return f"{_caption(self._rows, self.record)}\n{_shown(self._rows).to_string(na_rep='', float_format=_short)}"

    # -- display --------------------------------------------------------------------------------------------------

    def _is_as_made(self) -> bool:
        """Whether nobody has changed it in place: then it looks as any frame does."""
        return bool(self._rows) and tuple(self.columns) == COLUMNS and self.index.equals(_index(self._rows))

    def __repr__(self) -> str:
        if not self._is_as_made():
            return super().__repr__()
        return "\n".join(_lines(self._rows, self.record))

    def _repr_html_(self) -> str:
        if not self._is_as_made():
            return str(pd.DataFrame(self).to_html())
        return str(_styled(self._rows, self.record).to_html())


def timings(rows: Iterable[Timing], record: Record) -> Timings:
    """The rows as a DataFrame.  Its index is the variant, or size and variant where there are several sizes."""
    kept = tuple(rows)
    data = {name: pd.Series([getattr(r, name) for r in kept], dtype=_dtype(name)) for name in COLUMNS}
    frame = Timings(data, columns=list(COLUMNS))
    frame.index = _index(kept)
    frame.record, frame._rows = record, kept
    return frame


def _index(rows: Sequence[Timing]) -> pd.Index[Any] | pd.MultiIndex:
    variants = [row.variant for row in rows]
    if any(row.size for row in rows):
        return pd.MultiIndex.from_arrays([[row.size for row in rows], variants], names=["size", "variant"])
    return pd.Index(variants, name="variant", dtype=object)


def _dtype(column: str) -> Any:
    return "object" if column in _TEXT else _WHOLE.get(column, "float64")


def _lines(rows: Sequence[Timing], record: Record) -> Iterable[str]:
    device = rows[0].device.split(" ")[0] if rows else "nothing"
    yield f"timings of {_name(record.function)} on {device}, against before; .to_string() has the numbers"
    sizes = list(dict.fromkeys(row.size for row in rows))
    width = max((len(_name(row.variant)) for row in rows), default=0)
    for size in sizes:
        if size:
            yield f"  {size}"
        for row in rows:
            if row.size == size:
                word = "the baseline" if _is_baseline(row) else row.result or "no time"
                note = f"  ({middle(clean(row.note), 80)})" if row.result in ("failed", "not equal") else ""
                yield f"  {'  ' if size else ''}{_name(row.variant):{width}}  {word}{note}".rstrip()


def _shown(rows: Sequence[Timing]) -> pd.DataFrame:
    """What there is to see, less columns with nothing in them."""
    shown = pd.DataFrame(
        {
            "time, µs": pd.Series([row.median_us for row in rows], dtype="float64"),
            "interval": [_between(row.low_us, row.high_us) for row in rows],
            "speed-up": pd.Series([row.speedup for row in rows], dtype="float64"),
            "its interval": [_between(row.speedup_low, row.speedup_high) for row in rows],
            "host, µs": pd.Series([row.host_us for row in rows], dtype="float64"),
            "kernels": ["" if row.kernels is None else str(row.kernels) for row in rows],
            "peak, MB": ["" if row.peak_bytes is None else _short(row.peak_bytes / 1e6) for row in rows],
            "compile, s": ["" if row.compile_s is None else _short(row.compile_s) for row in rows],
            "guards, µs": [_between(row.guards_low_us, row.guards_high_us) for row in rows],
            "result": ["baseline" if _is_baseline(row) else row.result for row in rows],
            "note": [middle(clean(row.note), 200) for row in rows],
        }
    )
    shown.index = _index([replace(row, variant=_name(row.variant), size=_name(row.size)) for row in rows])
    empty = [name for name in ("kernels", "peak, MB", "guards, µs", "note") if not any(shown[name])]
    if all(row.device.startswith("cpu") for row in rows):
        empty.append("host, µs")
    return shown.drop(columns=empty)


def _styled(rows: Sequence[Timing], record: Record) -> Any:
    shown = _shown(rows)
    words = [name for name in shown.columns if not pd.api.types.is_float_dtype(shown[name])]
    numbers = [name for name in shown.columns if name not in words]
    styler: Any = shown.style.set_uuid("constviz-timings")
    styler = styler.format(_short, subset=numbers, na_rep="").format(escape="html", subset=words)
    styler = styler.format_index(escape="html", axis=0)
    if shown["time, µs"].notna().any():
        styler = styler.bar(subset=["time, µs"], color="#9ecae1", vmin=0)
    styler = styler.set_caption(html.escape(_caption(rows, record)))
    return styler.set_properties(subset=words, **{"text-align": "left"})


def _caption(rows: Sequence[Timing], record: Record) -> str:
    device = rows[0].device if rows else ""
    many = "thread" if record.threads == 1 else "threads"
    threads = f", {record.threads} {many}" if record.threads and device.startswith("cpu") else ""
    rounds = sum(run.rounds for run in record.runs.values())
    counted = f"; {rounds} interleaved rounds, 95% intervals" if rounds else ""
    return f"{_name(record.function)} on {device}{threads}{counted}"


def _is_baseline(row: Timing) -> bool:
    return row.variant == "before" and row.speedup == 1.0


def _name(name: str) -> str:
    return middle(clean(name), 60)


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{_short(low)}, {_short(high)}]"


def _short(number: float) -> str:
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 100 else f"{number:.3g}"
