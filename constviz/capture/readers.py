"""Which marked function read what a guard is about: told by what Dynamo looked at while it traced, and by names."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Any

from .bytecode import names_used
from .describe import called_function, code_name
from .events import Frame, GuardEntry
from .record import Recorder
from .seam import MarkedRead

__all__ = ["function_of", "is_frame_of", "possible_readers", "readers_of", "those_that_name_it"]


def possible_readers(entry: GuardEntry, after: Recorder, top: Any) -> Iterator[int]:
    """Ids of the folded functions that may have read state guarded in the frame of the compiled function itself.

    Without the marks the graph may break, and then Dynamo compiles frames further in, and guards their arguments:
    that says nothing about a fold.
    """
    code = getattr(function_of(called_function(top)), "__code__", None)
    if entry.frame is None or code is None or code_name(entry.frame.code) != code_name(code):
        return
    functions = {id(function_of(raw.fn)): function_of(raw.fn) for raw in after.folds if raw.marked and not raw.error}
    argument = re.fullmatch(r"L\['(\w+)'\](\[\d+\])*", entry.guard.source)
    for i, fn in functions.items():
        # a closure variable that both see is guarded under the name that it has in the compiled function
        if argument is None or argument[1] in getattr(getattr(fn, "__code__", None), "co_freevars", ()):
            yield i


def those_that_name_it(source: str, possible: list[int], after: Recorder) -> list[int]:
    """Those whose code names the global that a value is read from, if any does."""
    match = re.match(r"G\['(\w+)'\]", source)
    named = {id(function_of(raw.fn)) for raw in after.folds if match and match[1] in names_used(raw.fn)}
    return [i for i in possible if i in named] or possible


def readers_of(entry: GuardEntry, before: Recorder) -> Iterator[int]:
    """Ids of the marked functions that read a guard's value."""
    key = (entry.guard.type, entry.guard.source)
    reads = [r for r in before.reads if entry.frame is None or r.namespace is entry.frame.f_globals]
    own = [r for r in reads if key in r.guards]
    seen = own or [r for r in reads if _looked_at(entry.guard.source, r)]
    for found in seen:
        yield id(found.fn)
    if entry.frame is not None:
        for fn in before.marked.values():
            if is_frame_of(entry.frame, fn):
                yield id(fn)


def is_frame_of(frame: Frame, fn: Any) -> bool:
    """Whether the frame ran the function itself, or what Dynamo resumed of it."""
    code = getattr(fn, "__code__", None)
    return code is not None and (frame.code is code or code_name(frame.code) == f"{code_name(code)} (resumed)")


def function_of(fn: Any) -> Any:
    """The function of a bound method; else the function itself."""
    return getattr(fn, "__func__", fn)


def _looked_at(source: str, found: MarkedRead) -> bool:
    words = _words(found.fn)
    for seen in found.sources:
        if source == seen or (source.startswith(seen) and set(re.findall(r"\w+", source[len(seen) :])) <= words):
            return True
    return False


def _words(fn: Any, depth: int = 2) -> set[str]:
    """The names and string constants in a function and in the functions it names."""
    if not issubclass(type(fn), types.FunctionType):  # to ask another object may run the user's code
        return set()
    code = fn.__code__
    words = {"__closure__", "cell_contents", "__defaults__", "__dict__", *map(str, range(64)), *_code_words(code)}
    if depth:
        for name in code.co_names:
            words |= _words(fn.__globals__.get(name), depth - 1)
        for cell in fn.__closure__ or ():
            try:
                words |= _words(cell.cell_contents, depth - 1)
            except ValueError:  # not yet filled
                continue
    return words


def _code_words(code: types.CodeType) -> set[str]:
    words = {*code.co_names, "_modules", "_parameters", "_buffers"}
    for constant in code.co_consts:
        if isinstance(constant, str):
            words |= set(re.findall(r"\w+", constant))
        elif isinstance(constant, types.CodeType):
            words |= _code_words(constant)
    return words
