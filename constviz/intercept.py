"""torch.compile seen from outside: which compiled functions were called, kept for a comparison after the cell."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .model import Failure

if TYPE_CHECKING:
    from .capture.seam import CompiledCall, Watch
    from .comparison import Pending
    from .report import FoldReport

__all__ = ["Collection", "Interception", "nothing_called", "one_line"]

Tell = Callable[[str], None]


class Collection:
    """The first calls of compiled functions seen while it was the innermost open collection."""

    def __init__(self) -> None:
        self.pending: list[Pending] = []
        self.problems: list[str] = []
        self.seen_outside: dict[int, Any] = {}
        """What had been seen when this was opened: seen again in here, but not once more out there."""

    def take(self) -> tuple[list[Pending], list[str]]:
        """What was collected, which is then no longer here."""
        taken = self.pending, self.problems
        self.pending, self.problems = [], []
        return taken


class Interception:
    """Watches compiled functions being called, as long as at least one collection is open.

    One watch serves all collections, and the innermost gets the calls, so that a cell inside a cell, or a cell while
    everything is watched, can open and close in any order.
    """

    def __init__(self) -> None:
        self.count = 0
        """Number of compiled functions seen since the last :meth:`forget`."""
        self.names: list[str] = []
        """Their names, in the order of their first calls."""
        self._collections: list[Collection] = []
        self._stack = contextlib.ExitStack()
        self._watch: Watch | None = None
        self._reporting = False

    @property
    def is_open(self) -> bool:
        """Whether calls are being watched."""
        return self._watch is not None

    def open(self) -> Collection:
        """Open a collection inside those already open; functions seen by them are seen by it again."""
        if self._watch is None:
            from .capture.seam import watch_calls

            self._watch = self._stack.enter_context(watch_calls(self._on_call))
        collection = Collection()
        collection.seen_outside = dict(self._watch.seen)
        self._watch.forget()
        self._collections.append(collection)
        return collection

    def close(self, collection: Collection | None = None) -> None:
        """Close a collection, or all.  After the last, nothing is patched."""
        self._collections = [c for c in self._collections if collection is not None and c is not collection]
        if not self._collections:
            self._watch = None
            self._stack.close()
        elif collection is not None and self._watch is not None:
            self._watch.seen.update(collection.seen_outside)

    def forget(self) -> None:
        """Forget which functions were seen: the next call of each is collected again."""
        self.count, self.names = 0, []
        for collection in self._collections:
            collection.seen_outside.clear()
        if self._watch is not None:
            self._watch.forget()

    def checkpoint(self) -> Callable[[], None]:
        """Remember which functions were seen.  The returned function forgets those seen since."""
        watch = self._watch
        known = set(watch.seen) if watch is not None else set()

        def roll_back() -> None:
            if watch is not None and watch is self._watch:
                for key in watch.seen.keys() - known:
                    watch.seen.pop(key, None)

        return roll_back

    def reports(
        self,
        collection: Collection,
        tell: Tell,
        *,
        fold: list[str] | None = None,
        backend: Any = None,
        probe: bool = True,
    ) -> Iterator[FoldReport]:
        """Turn what was collected into reports, one at a time.  What cannot be reported is told in one line."""
        pending, problems = collection.take()
        for problem in problems:
            tell(problem)
        while pending:
            call = pending.pop(0)  # and its copies of the inputs with it
            try:
                with self._not_watching():
                    report = call.run(fold=fold, backend=backend, probe=probe)
            except KeyboardInterrupt:
                tell(f"interrupted: no report for {', '.join(rest.name for rest in [call, *pending])}")
                return
            except Exception as error:  # the user's cell is over and was fine: it must stay so
                tell(f"no report for {call.name}: {one_line(error)}")
            else:
                yield report

    @contextlib.contextmanager
    def _not_watching(self) -> Iterator[None]:
        before, self._reporting = self._reporting, True
        try:
            yield
        finally:
            self._reporting = before

    def _on_call(self, call: CompiledCall) -> None:
        # Runs inside the user's own call: whatever goes wrong here is told later.
        if self._reporting or not self._collections:
            return
        collection = self._collections[-1]
        try:
            self.count += 1
            if call.name not in self.names:
                self.names.append(call.name)
            from .comparison import prepare

            collection.pending.append(prepare(call))
        except Exception as error:
            collection.problems.append(f"no report for {call.name}: {one_line(error)}")


def one_line(error: BaseException) -> str:
    """``ValueError: first line``."""
    return Failure(type(error).__name__, str(error)).summary


def nothing_called() -> str:
    """Why a cell may have had no compiled call, in one line."""
    if os.environ.get("TORCHDYNAMO_DISABLE") == "1":
        return "TORCHDYNAMO_DISABLE=1 is set, so torch.compile does nothing and no compiled function was called"
    return (
        "no torch.compile'd function was called in this cell (defining one is not calling it; with disable=True "
        "torch.compile does nothing; torch.export and torch.jit.trace are not torch.compile). "
        "For a function that is not compiled: %constfold f(x)"
    )
