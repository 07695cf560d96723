"""What a fold may rest on though no dropped guard says so: what the program changes, leaves open, or did not reach."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Any

from ..expressions import readable
from .bytecode import attributes_set, changes_items, names_used, written_by
from .events import RawFold
from .leads import names_read
from .reach import is_library, is_library_class
from .readers import function_of, readers_of
from .record import Recorder

__all__ = ["ProgramWrites", "closed_over", "functions_given", "left_open_later", "not_reached"]


class ProgramWrites:
    """What the compiled functions change, and those that Dynamo traced inside them.  A fold sees what was before."""

    def __init__(self, after: Recorder) -> None:
        marked = {getattr(function_of(raw.fn), "__code__", None) for raw in after.folds if raw.marked}
        codes = {frame.code: frame.f_globals for frame in after.frames}
        for call in after.inlined_calls:
            codes.setdefault(call.code, getattr(function_of(call.fn), "__globals__", {}))
        theirs = {c: names for c, names in codes.items() if c not in marked and not is_library(c.co_filename)}
        self._variables = {name for code, names in theirs.items() for name in written_by(code, names)}
        self._attributes = {name for code in theirs for name in attributes_set(code)}
        self._items = any(changes_items(code) for code in theirs)

    def read_by(self, fn: Any) -> list[str]:
        """Names of what the function reads and the program may change, be it by another name."""
        names = names_used(fn)
        found = names & (self._variables | self._attributes)
        if self._items:
            found |= {text.split(".")[0] for text, value in names_read(function_of(fn)) if _is_container(value)}
        return sorted(found)


def left_open_later(fn: Any, before: Recorder, dynamic: bool) -> list[str]:
    """Numbers that it reads and Dynamo guards now, but leaves open once they have changed: then the fold is not redone.

    It guards them for the rest of the program, which reads them too.  Measured on torch 2.13: floats, and integers
    that are attributes of arguments or closure variables; not items of lists and tuples.
    """
    if not dynamic:
        return []
    function = function_of(fn)
    free = getattr(getattr(function, "__code__", None), "co_freevars", ())
    others = _named_elsewhere(function, before)
    found = []
    for entry in before.wanted_guards:
        source, value = entry.guard.source, entry.value
        last = re.search(r"(?:\.|\[')(\w+)(?:'\])?(\.cell_contents)?$", source)
        if entry.guard.type not in ("CONSTANT_MATCH", "EQUALS_MATCH") or last is None or last[1] not in others:
            continue
        shared = re.fullmatch(r"L\['(\w+)'\]", source)  # a closure variable that the compiled function sees, too
        opens = type(value) is float or (type(value) is int and source.startswith("L["))
        if opens and (id(function) in set(readers_of(entry, before)) or (shared and shared[1] in free)):
            found.append(readable(source))
    return list(dict.fromkeys(found))


def _named_elsewhere(function: Any, before: Recorder) -> set[str]:
    """Names and string constants in the user's code that was traced, but for the function itself."""
    codes = {frame.code for frame in before.frames} | {call.code for call in before.inlined_calls}
    own = getattr(function, "__code__", None)
    names: set[str] = set()
    for code in codes:
        if code is not own and not is_library(code.co_filename):
            texts = (constant for constant in code.co_consts if isinstance(constant, str))
            names.update(code.co_names, code.co_freevars, texts)
    return names


def not_reached(fn: Any, before: Recorder) -> list[str]:
    """State that its code names and that was not read while it was traced: a branch not taken would read it."""
    function = function_of(fn)
    seen = [entry.guard.source for entry in before.wanted_guards]
    seen += [source for found in before.reads for source in found.sources]
    text = "\n".join(seen)
    free = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = []
    for expression, _ in names_read(function, getattr(fn, "__self__", None)):
        name = expression.split(".")[-1]
        places = [f"'{name}'", f".{name}"]
        if expression in free:
            places.append(f"__closure__[{free.index(expression)}]")
        if expression != "self" and not any(place in text for place in places):
            found.append(expression)
    return list(dict.fromkeys(found))


def closed_over(raw: RawFold) -> list[str]:
    """Variables that functions close over which it was given: Dynamo may leave such a number open later on."""
    return sorted({name for function in functions_given(raw) for name in function.__code__.co_freevars})


def functions_given(raw: RawFold) -> Iterator[types.FunctionType]:
    """The functions among its arguments, and the methods of classes there."""
    args, kwargs = raw.given or ((), {})
    for value in (*args, *kwargs.values()):
        if isinstance(value, types.FunctionType):
            yield value
        elif isinstance(value, type) and not is_library_class(value):
            for member in vars(value).values():
                inner = getattr(member, "__func__", member)
                if isinstance(inner, types.FunctionType):
                    yield inner


def _is_container(text: str) -> bool:
    return text.startswith(("[", "{", "deque(", "defaultdict(", "OrderedDict(", "Counter(")) or text.endswith("object")
