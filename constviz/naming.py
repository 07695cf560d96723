"""What a marked function may be called where marks are chosen, and what is said of a name that none has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from .model import Mark

__all__ = ["goes_by", "marks_in_words", "own_names", "unknown_names"]


def goes_by(mark: Mark) -> set[str]:
    """Every name that means this mark: short, qualified, with its module, and with the line of its definition.

    >>> from constviz.model import Location
    >>> sorted(goes_by(Mark("Net.scale", Location("/here/net.py", 7), module="pkg.net")))
    ['Net.scale', 'Net.scale@net.py:7', 'pkg.net.Net.scale', 'scale', 'scale@net.py:7']
    """
    short = mark.function.rsplit(".", 1)[-1]
    names = {mark.function, short}
    if mark.module:
        names.add(f"{mark.module}.{mark.function}")
    if mark.definition is not None:
        names |= {f"{name}@{mark.definition.short}" for name in (mark.function, short)}
    return names


def own_names(marks: Sequence[Mark]) -> list[str]:
    """One name for each mark: the one a reader knows, with its line if several have that one.

    >>> from constviz.model import Location
    >>> own_names([Mark("f", Location("a.py", 1)), Mark("f", Location("a.py", 9)), Mark("g")])
    ['f@a.py:1', 'f@a.py:9', 'g']
    """
    functions = [mark.function for mark in marks]
    return [
        f"{mark.function}@{mark.definition.short}"
        if functions.count(mark.function) > 1 and mark.definition is not None
        else mark.function
        for mark in marks
    ]


def marks_in_words(marks: Sequence[Mark]) -> str:
    """Which marks a capture left out.

    >>> marks_in_words([Mark("scale"), Mark("shift", selected=False)])
    'without shift'
    """
    left_out = [name for mark, name in zip(marks, own_names(marks), strict=True) if not mark.selected]
    if not left_out:
        return "with all marks"
    return "without any mark" if len(left_out) == len(marks) > 1 else f"without {', '.join(left_out)}"


def unknown_names(chosen: Iterable[str], marks: Sequence[Mark]) -> list[str]:
    """A sentence for each name that means none of the marks, with those that there are.

    >>> unknown_names(["scael", "shift"], [Mark("scale"), Mark("shift")])
    ['No marked function named scael was called, but scale and shift were: did you mean scale?']
    """
    known = list(dict.fromkeys(own_names(marks)))
    every = {name: own for mark, own in zip(marks, own_names(marks), strict=True) for name in goes_by(mark)}
    told = []
    for name in chosen:
        if name in every:
            continue
        sentence = f"No marked function named {name} was called"
        if known:
            last = f"{', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else known[0]
            sentence += f", but {last} {'were' if len(known) > 1 else 'was'}"
        close = difflib.get_close_matches(name, list(every), n=1)
        told.append(f"{sentence}: did you mean {close[0]}?" if close else f"{sentence}.")
    return told
