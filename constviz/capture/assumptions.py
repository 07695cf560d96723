"""What the compiled program takes for granted: the guards that folding dropped, and whether each would still pass."""

from __future__ import annotations

import contextlib
import re
import types
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import torch

from ..expressions import readable
from ..model import Assumption
from .describe import called_function, code_name, describe, function_name
from .events import Frame, GuardEntry
from .reach import is_library_class, is_library_function
from .readers import function_of, possible_readers, readers_of, those_that_name_it
from .readings import Expectation, Scope, UnreadableError, read
from .record import Recorder
from .seam import is_wrapper

__all__ = ["DYNAMOS_OWN", "LiveAssumption", "dropped_guards", "folded_names", "keys_around_folds", "scope_of"]

_ABOUT_CODE = {
    "BUILTIN_MATCH", "CLASS_MATCH", "CLOSURE_MATCH", "DUPLICATE_INPUT", "EMPTY_NN_MODULE_HOOKS_DICT", "FUNCTION_MATCH",
    "HASATTR", "MODULE_MATCH", "NAME_MATCH", "NN_MODULE", "NOT_PRESENT_IN_GENERIC_DICT", "NO_HASATTR", "SHAPE_ENV",
    "TYPE_MATCH", "WEAKREF_ALIVE",
}  # fmt: skip
"""Guards that describe the code itself, or what a more telling guard says too."""

_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type)
_TORCHS_OWN = re.compile(r"G\['__import_torch('\]|_dot_)")
"""Dynamo's own names for torch modules that it imported; those of the user's modules are state like any other."""

DYNAMOS_OWN = ("__builtins_dict__", "___stack", "___unnamed_scope")
"""In names for what Dynamo itself made."""

_SETTINGS = (bool, int, float, str, type(None))

_CLOSURE = re.compile(r"([LG]\['\w+'\](?:\.\w+|\['[^'\[\]]+'\])*?)\.__closure__\[(\d+)\]\.cell_contents")

_LIBRARY_CONSTANT = (torch.dtype, torch.layout, torch.device, torch.memory_format)


class LiveAssumption:
    """One dropped guard that can be read again.  Holds the objects it reads from."""

    def __init__(self, functions: tuple[str, ...], entry: GuardEntry, scope: Scope, aliased: bool) -> None:
        self.functions = functions
        """The marked functions that read it."""
        self.source = entry.guard.source
        self.scope = scope
        self.expression = in_users_words(self.source, scope)
        if entry.frame is not None and is_wrapper(entry.frame.code):
            self.expression = re.sub(r"\bfn\b(?=[.\[)]|$)", "self", self.expression, count=1)
        value = entry.value
        if self.source.startswith("___from_numpy("):  # Dynamo guards a tensor made of it
            value = read(self.source, scope)
        self.expected = Expectation(entry.guard.type, value, aliased)
        self.changes_itself = False
        """The marked function writes it, as a counter of its calls does: a change says nothing about the result."""

    def is_read_by(self, fn: Any, owners: Collection[int] = ()) -> bool:
        """Whether this very function reads it: of a method, that of this instance and not of another one's.

        ``owners``: ids of the instances whose methods were folded.
        """
        if function_name(fn) not in self.functions:
            return False
        owner = getattr(fn, "__self__", None)
        if owner is None or isinstance(owner, type):
            return True
        passed = list(self._passed())
        theirs = [value for value in passed if type(value) is type(owner) and id(value) in owners]
        return any(value is owner for value in passed) or not theirs

    def _passed(self) -> Iterator[Any]:
        """The objects on the way to it."""
        source = self.source
        while (inner := _inside(source)) != source:
            source = inner
            with contextlib.suppress(UnreadableError):
                yield read(source, self.scope)

    def now(self) -> Assumption:
        """Read it again.  Runs none of the user's code; takes microseconds."""
        current, holds = None, None
        try:
            value = read(self.source, self.scope)
        except UnreadableError:
            pass
        else:
            holds = self.expected.holds(value)
            current = self.expected.text_of(value) if not holds else self.expected.text
        return Assumption(
            ", ".join(self.functions), self.expression, self.expected.guard_type, self.expected.text, current, holds
        )


def dropped_guards(before: Recorder, after: Recorder, top: Any) -> list[LiveAssumption]:
    """The guards of ``before`` that ``after`` lacks, each with the marked function that read it."""
    names = folded_names(after)
    if not names:
        return []
    kept = keys_around_folds(after, after.guard_entries)
    unfiltered = keys_around_folds(after, after.wanted_guards)
    returned = {id(raw.returned) for raw in after.folds}  # a returned container is guarded as what the fold gave
    live = {id(e.value) for e in after.guard_entries if isinstance(e.value, (list, dict, set))} & returned
    owners = {e.guard.source: e.value for e in before.wanted_guards}
    results = [value for raw in after.folds for value in raw.tensors]
    found: dict[Any, LiveAssumption] = {}
    for entry in before.wanted_guards:
        source, key = entry.guard.source, entry.key
        if key in found or not _is_about_state(entry) or id(owners.get(_owner(source))) in live:
            continue
        known = [i for i in readers_of(entry, before) if i in names]
        aliased = _shares(entry.value, results)
        content = isinstance(entry.value, torch.Tensor) and not aliased  # of which a kept guard says nothing
        readers = [i for i in known if content or key not in kept[i]]
        if not known:  # who read it is not known: it may have been any of them
            possible = [i for i in possible_readers(entry, after, top) if key not in kept[i] | unfiltered[i]]
            readers = those_that_name_it(source, possible, after)
        functions = tuple(dict.fromkeys(names[i] for i in readers))
        scope = scope_of(entry.frame, top)
        if functions and not _is_inside_a_library(source, scope):
            found[key] = LiveAssumption(functions, entry, scope, aliased)
    return _distinct(found.values())


def folded_names(after: Recorder) -> dict[int, str]:
    """The names of the folded functions, by the function's id."""
    return {id(function_of(r.fn)): function_name(r.fn) for r in after.folds if r.marked and r.error is None}


def keys_around_folds(after: Recorder, entries: Iterable[GuardEntry]) -> dict[int, set[Any]]:
    """For each folded function what is checked in every frame that holds a fold of it.

    A check in another frame, of a function that is called later or of the rest after a graph break, comes too late:
    the frame with the fold runs as it is.
    """
    of_frame: dict[int, set[Any]] = {}
    for entry in entries:
        of_frame.setdefault(id(entry.frame), set()).add(entry.key)
    found: dict[int, set[Any]] = {i: set() for i in folded_names(after)}
    seen: set[int] = set()
    for frame in after.frames:
        for i in {id(function_of(after.folds[position].fn)) for position in frame.folds} & found.keys():
            keys = of_frame.get(id(frame), set())
            found[i] = found[i] & keys if i in seen else set(keys)
            seen.add(i)
    return found


def _distinct(found: Iterable[LiveAssumption]) -> list[LiveAssumption]:
    """One for each value read: several guard types on one value say the same to a reader."""
    rows: dict[Any, LiveAssumption] = {}
    for assumption in found:
        where = id(assumption.scope.globals)
        rows.setdefault((assumption.functions, assumption.source, assumption.expected.text, where), assumption)
    return list(rows.values())


def _is_about_state(entry: GuardEntry) -> bool:
    source, value = entry.guard.source, entry.value
    if entry.guard.type in _ABOUT_CODE or not entry.has_value or isinstance(value, _CODE):
        return False
    if any(word in source for word in DYNAMOS_OWN):
        return False
    if _TORCHS_OWN.match(source) and not isinstance(value, _SETTINGS):
        return False
    if source.endswith((".__name__", ".__qualname__", ".__module__", ".__code__")):
        return False
    argument = re.fullmatch(r"L\['(\w+)'\]", source)
    if argument and isinstance(value, torch.Tensor):  # an input of the frame is not state, a closure variable is
        return entry.frame is not None and argument[1] in entry.frame.code.co_freevars
    return not (isinstance(value, _LIBRARY_CONSTANT) and re.match(r"G\['torch'\]", source))


def _is_inside_a_library(source: str, scope: Scope) -> bool:
    """Whether it is a default or a closure variable of a function of a library, or stands in a class of one."""
    for match in re.finditer(r"\bdict\((.*?\.__mro__\[\d+\])\.__dict__\)", source):
        try:
            if is_library_class(read(match[1], scope)):
                return True
        except UnreadableError:
            continue
    for match in re.finditer(r"\.(?:__defaults__|__kwdefaults__|__closure__)\b", source):
        try:
            fn = read(source[: match.start()], scope)
        except UnreadableError:
            continue
        if issubclass(type(fn), types.FunctionType) and is_library_function(fn):
            return True
    return False


def _owner(source: str) -> str:
    """The expression whose item or attribute ``source`` is."""
    match = re.fullmatch(r"(.*)(\[[^\[\]]*\]|\.\w+)", source)
    return match[1] if match else source


def _inside(source: str) -> str:
    """The argument of ``type(...)`` and the like, else the owner."""
    match = re.fullmatch(r"\w+\((.*?)(?:, '\w+')?\)", source)
    return match[1] if match else _owner(source)


def scope_of(frame: Frame | None, top: Any) -> Scope:
    """Where the names of a frame's guards are looked up."""
    if frame is None:
        return Scope({}, {}, {})
    function = function_of(called_function(top))
    code = getattr(function, "__code__", None)
    cells: dict[str, types.CellType] = {}
    if code is not None and code_name(code) == code_name(frame.code):
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    return Scope(frame.f_locals, frame.f_globals, cells)


def _shares(value: Any, results: list[Any]) -> bool:
    """Whether the graph holds this very storage, so that writes into it are seen."""
    if not isinstance(value, torch.Tensor):
        return any(value is result for result in results)
    if any(hasattr(r, "__array_interface__") and r.__array_interface__["data"][0] == value.data_ptr() for r in results):
        return True
    try:
        pointer = value.untyped_storage().data_ptr()
        return any(isinstance(r, torch.Tensor) and r.untyped_storage().data_ptr() == pointer for r in results)
    except (RuntimeError, NotImplementedError):
        return False


def in_users_words(source: str, scope: Scope) -> str:
    """``L['k'].__closure__[0].cell_contents['n']`` is ``CFG['n']`` if ``CFG`` is what ``k`` closes over."""
    source = re.sub(r"G\['__import_(\w+)'\]", lambda match: f"G[{match[1].replace('_dot_', '.')!r}]", source)
    source = re.sub(r"^___from_numpy\((.*)\)$", r"\1", source)
    text = source
    while match := _CLOSURE.search(text):
        try:
            fn = read(match[1], scope)
            name, value = fn.__code__.co_freevars[int(match[2])], fn.__closure__[int(match[2])].cell_contents
        except (UnreadableError, AttributeError, IndexError, ValueError):
            break
        scope = Scope({**scope.local, name: value}, scope.globals, {k: v for k, v in scope.cells.items() if k != name})
        text = f"{text[: match.start()]}L[{name!r}]{text[match.end() :]}"
    text = re.sub(r"dict\((\w+\([^()]+\)|[^()]+)\.__dict__\)\['(\w+)'\](?:\.__func__)?", r"\1.\2", text)
    text = re.sub(r"hasattr\((.*)\.__dict__, ('\w+')\)", r"\2 in vars(\1)", text)
    default = re.match(r"^(.*)\.__defaults__\[(\d+)\](.*)$", text)
    if default:
        return _default_in_words(default, scope)
    return readable(text)


def _default_in_words(match: re.Match[str], scope: Scope) -> str:
    try:
        fn = read(match[1], scope)
        code = fn.__code__
        name = code.co_varnames[code.co_argcount - len(fn.__defaults__) + int(match[2])]
    except (UnreadableError, AttributeError, IndexError, TypeError):
        return readable(match[0])
    return f"default of {name} in {describe(fn).text.removeprefix('function ')}{match[3]}"
