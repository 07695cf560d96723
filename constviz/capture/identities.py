"""What else a fold rests on: which function a name stands for, an object's class, and what was looked for in vain."""

from __future__ import annotations

import enum
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..model import Guard
from .assumptions import DYNAMOS_OWN, LiveAssumption, folded_names, keys_around_folds, scope_of
from .events import Frame, GuardEntry
from .reach import file_of, is_library, is_library_class, is_library_function
from .readers import function_of, is_frame_of, readers_of
from .readings import Scope, UnreadableError, read
from .record import Recorder

__all__ = ["dropped_identities"]

_ON_CODE = ("FUNCTION_MATCH", "CLOSURE_MATCH", "CLASS_MATCH", "BUILTIN_MATCH", "ID_MATCH")
_ON_ABSENCE = ("HASATTR", "NO_HASATTR", "NOT_PRESENT_IN_GENERIC_DICT")
_ON_VALUES = ("CONSTANT_MATCH", "EQUALS_MATCH")
_NUMBERS = (int, float)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_PLAIN = (
    bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice, type(None), torch.Tensor,
    torch.dtype, torch.device, torch.Size, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
    types.MethodType, type, enum.Enum,
)  # fmt: skip
"""Whose class says nothing: the value is guarded, or is code."""

_FEW = 6
"""Keys up to which a dict is told by its keys; larger ones by how many there are."""


def dropped_identities(
    before: Recorder, after: Recorder, top: Any, known: Sequence[LiveAssumption]
) -> list[LiveAssumption]:
    """The guards of ``before`` on functions, classes and absence that ``after`` lacks, where ``known`` says less.

    What a library has under its own name is code and not listed; neither is an Enum.
    """
    names = folded_names(after)
    if not names:
        return []
    entries = after.guard_entries
    about = [e for entry in entries for e in _about_identity(entry, scope_of(entry.frame, top))]
    kept = keys_around_folds(after, [*entries, *about])
    found: dict[Any, LiveAssumption] = {}
    for entry, readers in _candidates(before, top):
        functions = tuple(dict.fromkeys(names[i] for i in readers if i in names and entry.key not in kept[i]))
        if functions and entry.key not in found:
            found[entry.key] = LiveAssumption(functions, entry, scope_of(entry.frame, top), False)
    for entry, fn in _defaults(before, after):
        if not any(a.source.startswith(entry.guard.source) for a in known):
            found[entry.key] = LiveAssumption((names[id(fn)],), entry, scope_of(entry.frame, top), False)
    # how many items something has says nothing about the class of what has it
    sources = [a.source for a in (*known, *found.values()) if a.expected.guard_type != "SEQUENCE_LENGTH"]
    return [a for a in found.values() if not _is_said_by(a, sources)]


def _is_said_by(assumption: LiveAssumption, sources: Sequence[str]) -> bool:
    """Whether something that was read through it is listed too, which tells more."""
    if assumption.expected.guard_type not in ("TYPE_MATCH", "CLASS_MATCH", "DICT_KEYS_MATCH"):
        return False
    mine = assumption.source
    inner = re.sub(r"^(?:list|len)\((.*)\)$", r"\1", mine)
    return any(inner in other and other not in (mine, inner) for other in sources)


def _candidates(before: Recorder, top: Any) -> Iterator[tuple[GuardEntry, list[int]]]:
    marked = [function_of(fn) for fn in before.marked.values()]
    entries = before.wanted_guards
    by_value = {e.guard.source for e in entries if e.guard.type in _ON_VALUES}
    for entry in entries:
        scope = scope_of(entry.frame, top)
        if entry.guard.type == "TYPE_MATCH" and type(entry.value) in _NUMBERS and entry.guard.source not in by_value:
            yield _left_open(entry.guard.source, entry.value, entry.frame), list(readers_of(entry, before))
        for about in _about_identity(entry, scope):
            if not any(about.value is fn for fn in marked):
                yield about, _readers(entry, before)
    guarded = [e.guard.source for e in entries if e.guard.type not in ("TYPE_MATCH", "DUPLICATE_INPUT")]
    for found in before.reads:
        for source in sorted(found.sources):
            if not any(source in other for other in guarded):
                for entry in _keys(source, before, top):
                    yield entry, [id(function_of(found.fn))]
            if source not in by_value:
                for entry in _symbolic(source, before, top):
                    yield entry, [id(function_of(found.fn))]


def _readers(entry: GuardEntry, before: Recorder) -> list[int]:
    """Ids of the marked functions whose body added the guard, or looked at what it is about."""
    key = (entry.guard.type, entry.guard.source)
    own = [id(function_of(r.fn)) for r in before.reads if key in r.guards or entry.guard.source in r.sources]
    if entry.frame is not None:
        own += [id(fn) for fn in map(function_of, before.marked.values()) if is_frame_of(entry.frame, fn)]
    return own


def _about_identity(entry: GuardEntry, scope: Scope) -> Iterator[GuardEntry]:
    kind, source, value = entry.guard.type, entry.guard.source, entry.value
    if not entry.has_value or any(word in source for word in DYNAMOS_OWN):
        return
    if kind in _ON_CODE and issubclass(type(value), (*_FUNCTIONS, type)):
        if not _is_fixed_code(source, value, scope):
            yield entry
    elif kind in _ON_ABSENCE and entry.attribute is not None:
        asked = f"hasattr({source}, {entry.attribute!r})"
        if kind == "NOT_PRESENT_IN_GENERIC_DICT":
            if entry.attribute.startswith("__"):  # Python asks the class for these
                return
            # its class has it; one of its own would come first
            asked = f"hasattr({source}.__dict__, {entry.attribute!r})"
        try:
            present = read(asked, scope)
        except UnreadableError:
            return
        if not _is_expected_there(kind, entry.attribute, value):
            yield GuardEntry(Guard("HASATTR", asked, "", asked), present, True, entry.frame)
    elif kind == "TYPE_MATCH" and not issubclass(type(value), _PLAIN) and not _owner_is_library(source, scope):
        yield entry


def _is_expected_there(kind: str, attribute: str, value: Any) -> bool:
    """Whether torch or Dynamo asks for it at every use: of a tensor, of a library's module, of an ``nn.Module``."""
    if issubclass(type(value), types.ModuleType):
        # what is not there, nobody asks for of himself
        return _is_library_module(value) and (attribute in vars(value) or attribute.startswith("__"))
    if issubclass(type(value), torch.nn.Module):
        return attribute.startswith("_") or kind == "NOT_PRESENT_IN_GENERIC_DICT"
    return issubclass(type(value), torch.Tensor)


def _keys(source: str, before: Recorder, top: Any) -> Iterator[GuardEntry]:
    """A dict that was looked into without a guard on what was found: there was nothing."""
    for frame in before.frames:
        scope = scope_of(frame, top)
        try:
            value = read(source, scope)
            if not issubclass(type(value), dict) or source.endswith(".__dict__") or _is_in_library(source, scope):
                return
            few = dict.__len__(value) <= _FEW and all(type(key) in (str, bytes, int, bool) for key in dict.keys(value))
            asked = f"{'list' if few else 'len'}({source})"
            yield GuardEntry(Guard("DICT_KEYS_MATCH", asked, "", asked), read(asked, scope), True, frame)
            return
        except UnreadableError:
            continue


def _defaults(before: Recorder, after: Recorder) -> Iterator[tuple[GuardEntry, Any]]:
    """The defaults that folds were called with.  PyTorch 2.11 does not guard them by value."""
    for raw in after.folds:
        fn = function_of(raw.fn)
        if not raw.marked or raw.error is not None or not getattr(fn, "__defaults__", None):
            continue
        code, given = fn.__code__, {argument.name for argument in raw.arguments}
        first = code.co_argcount - len(fn.__defaults__)
        for entry in before.wanted_guards:
            if entry.value is fn and entry.guard.type in _ON_CODE:
                for i, name in enumerate(code.co_varnames[first : code.co_argcount]):
                    if name not in given:
                        source = f"{entry.guard.source}.__defaults__[{i}]"
                        yield _left_open(source, fn.__defaults__[i], entry.frame), fn


def _left_open(source: str, value: Any, frame: Frame | None) -> GuardEntry:
    """A number that Dynamo takes as an input of the graph, as it does with ``dynamic=True``: no guard is on it."""
    return GuardEntry(Guard("UNGUARDED", source, "", source), value, True, frame)


def _symbolic(source: str, before: Recorder, top: Any) -> Iterator[GuardEntry]:
    for frame in before.frames:
        try:
            value = read(source, scope_of(frame, top))
        except UnreadableError:
            continue
        if type(value) in _NUMBERS:
            yield _left_open(source, value, frame)
        return


def _is_fixed_code(source: str, value: Any, scope: Scope) -> bool:
    """Whether it is a library's own, under its own name, or an Enum."""
    own_name = _last_name(source) == getattr(value, "__name__", "")
    if issubclass(type(value), type) and issubclass(value, enum.Enum):
        return own_name
    return _is_of_a_library(value) and (own_name or _owner_is_library(source, scope))


def _is_of_a_library(value: Any) -> bool:
    if issubclass(type(value), types.FunctionType):
        return is_library_function(value)
    if issubclass(type(value), types.MethodType):
        return _is_of_a_library(value.__func__)
    if issubclass(type(value), types.BuiltinFunctionType):
        return True
    return is_library_class(value)


def _owner_is_library(source: str, scope: Scope) -> bool:
    owner = _owner(source, scope)
    if issubclass(type(owner), (types.CellType, types.FunctionType, type(None))):  # a variable of the user's
        return False
    return _is_in_library(source, scope) or is_library_class(type(owner))


def _is_in_library(source: str, scope: Scope) -> bool:
    owner = _owner(source, scope)
    return issubclass(type(owner), types.ModuleType) and _is_library_module(owner)


def _is_library_module(module: Any) -> bool:
    root = str(module.__name__).split(".")[0]
    return root in sys.stdlib_module_names or is_library(file_of(module))


def _owner(source: str, scope: Scope) -> Any:
    match = re.fullmatch(r"(.*)\.\w+", source)
    try:
        return read(match[1], scope) if match else None
    except UnreadableError:
        return None


def _last_name(source: str) -> str:
    names = re.findall(r"\w+", source)
    return names[-1] if names else ""
