"""Which nodes of the unfolded program came from inlining a call that the other one folded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..model import Fold, Location, Outcome
from .program import Program, plain_name

__all__ = ["frame_function", "inlined"]

_RESUMED = re.compile(r"^(?:torch_dynamo_resume_in_|__resume_at_\d+_)(.*?)(?:_at_\d+(?:_\d+)?)?$")


def frame_function(location: Location) -> str:
    """The user's function of a frame, also of one that Dynamo resumes after a graph break.

    >>> frame_function(Location("m.py", 18, "torch_dynamo_resume_in_table_at_17"))
    'table'
    """
    return _RESUMED.sub(r"\1", location.function)


def inlined(before: Program, folds: Iterable[Fold]) -> dict[int, str]:
    """The nodes of ``before`` that stand for a folded call, with the fold's id.

    A node belongs to a call if its stack holds the calling line followed by a frame of the function, or begins in
    the function, as it does after a graph break inside it.  One line may call the function many times, as in a
    loop: then the nodes are dealt out to those calls in order.
    """
    groups: dict[tuple[object, ...], list[Fold]] = {}
    for fold in folds:
        if fold.outcome is Outcome.FOLDED:
            groups.setdefault(_call(fold), []).append(fold)
    found: dict[int, str] = {}
    for same in groups.values():
        numbers = [i for i in before.shown if i not in found and _is_inside(before.nodes[i].stack, same[0])]
        for fold, share in zip(same, _deal(before, numbers, len(same)), strict=True):
            found.update(dict.fromkeys(share, fold.id))
    return found


def _call(fold: Fold) -> tuple[object, ...]:
    place, home = fold.location, fold.definition
    return fold.function, place and (place.file, place.line), home and (home.file, home.line)


def _is_inside(stack: tuple[Location, ...], fold: Fold) -> bool:
    called = False
    for depth, frame in enumerate(stack):
        if (called or depth == 0) and _is_function(frame, fold):
            return True
        if fold.location is not None and (frame.file, frame.line) == (fold.location.file, fold.location.line):
            called = True
    return False


def _is_function(frame: Location, fold: Fold) -> bool:
    if frame_function(frame) != fold.function.rsplit(".", 1)[-1]:
        return False
    home = fold.definition
    return home is None or (frame.file == home.file and frame.line >= home.line)


def _deal(program: Program, numbers: list[int], calls: int) -> list[list[int]]:
    """Cut the nodes of ``calls`` calls apart: where the same first line begins again, or where other nodes stand."""
    if calls == 1 or not numbers:
        return [numbers] + [[] for _ in range(calls - 1)]
    share, rest = divmod(len(numbers), calls)
    looks = [(program.nodes[i].target, plain_name(program.nodes[i].name)) for i in numbers]
    if not rest and looks == looks[:share] * calls:
        return [numbers[k * share : (k + 1) * share] for k in range(calls)]
    runs: list[list[int]] = []
    for i in numbers:
        if runs and i == runs[-1][-1] + 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    # more runs than calls: the surplus stays with the last; fewer: the last calls left no node
    dealt = [*runs[: calls - 1], [i for run in runs[calls - 1 :] for i in run]]
    return dealt + [[] for _ in range(calls - len(dealt))]
