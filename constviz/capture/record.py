"""Collects what happens while Dynamo traces: frames, folds, graphs, graph breaks and guards of one capture."""

from __future__ import annotations

import contextlib
import inspect
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.fx

from ..expressions import readable
from ..model import Argument, Graph, GraphBreak, Guard
from .copies import copy_inputs, kept_copy
from .describe import brief, code_name, describe, tensors_in, version_of
from .events import Frame, GuardEntry, InlinedCall, RawFold, first_line, split_reason
from .graphs import from_fx
from .modes import ambient_modes
from .seam import MarkedRead, Site, fx_node, guarded_attribute, has_cache_entries, is_alias, is_marked, realized

__all__ = ["Recorder"]


class Recorder:
    """Collects what Dynamo does during one capture; ``honoured`` decides which marks count."""

    def __init__(self, honoured: Callable[[Any], bool], backend: Callable[..., Any], name: str = "") -> None:
        self._honoured = honoured
        self._backend = backend

        self._holder = holder = [self]

        def backend_object(gm: torch.fx.GraphModule, example_inputs: Sequence[Any], **kwargs: Any) -> Any:
            return holder[0]._compile_graph(gm, example_inputs, **kwargs)

        backend_object.__name__ = name or "constviz"  # Dynamo's messages name the backend
        self.backend = backend_object
        """What Dynamo calls, and knows its cache entries by."""
        self._active: list[Frame] = []
        self._pending: list[tuple[int, Any]] = []
        self._sources: dict[int, tuple[Any, int]] = {}
        self._before: dict[types.CodeType, tuple[bool, frozenset[str]]] = {}
        self.frames: list[Frame] = []
        self.folds: list[RawFold] = []
        self.graphs: list[Graph] = []
        self.breaks: list[GraphBreak] = []
        self._guards: dict[int, tuple[Any, list[GuardEntry]]] = {}
        self._wanted: dict[int, tuple[Any, list[GuardEntry]]] = {}
        self.inlined_calls: list[InlinedCall] = []
        self.reads: list[MarkedRead] = []
        self.marked: dict[int, Any] = {}
        self.compile_s = 0.0
        self.error: BaseException | None = None
        """What the compiled call raised."""
        self._node_names: dict[torch.fx.Node, str] = {}

    def release(self) -> None:
        """The capture is over: what Dynamo may still hold of the backend must not hold the program."""
        self._holder.clear()

    # -- frames -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def frame(self, code: types.CodeType, f_globals: dict[str, Any], f_locals: dict[str, Any]) -> Iterator[Frame]:
        if code not in self._before:
            self._before[code] = (has_cache_entries(code), frozenset(f_globals))
        record = Frame(code, f_globals, f_locals, self._before[code][0])
        self.frames.append(record)
        self._active.append(record)
        start = time.perf_counter()
        try:
            yield record
        except BaseException as error:
            record.error = error
            raise
        finally:
            self._active.pop()
            if not self._active:
                self.compile_s += time.perf_counter() - start

    def attempt(self, output_graph: Any) -> None:
        self._pending.clear()
        if self._active:
            self._active[-1].attempts.append(output_graph)

    def leaked_names(self) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """The globals that tracing added, by namespace."""
        for frame in self.frames:
            before = self._before[frame.code][1]
            yield frame.f_globals, [name for name in frame.f_globals if name not in before]

    # -- folds --------------------------------------------------------------------------------------------------

    def honours(self, fn: Any) -> bool:
        if not is_marked(fn):
            return True  # a mark of torch's own
        self.marked.setdefault(id(fn), fn)
        return self._honoured(fn)

    def fold(self, site: Site, fn: Any, call: Callable[[Any], Any], fixed: bool = False) -> Any:
        raw = RawFold(fn, site, marked=is_marked(fn), fixed=fixed)
        position = len(self.folds)
        self.folds.append(raw)
        if self._active:
            self._active[-1].folds.append(position)

        def spy(*args: Any, **kwargs: Any) -> Any:
            raw.arguments = _arguments(fn, args, kwargs)
            raw.given = _copies(args, kwargs)
            raw.modes = ambient_modes()
            result = fn(*args, **kwargs)
            raw.result = describe(result)
            raw.returned = result
            raw.answer = kept_copy(result)
            places = (i for i, value in enumerate((*args, *kwargs.values())) if value is result)
            raw.passed_on = next(places, None)
            raw.tensors = (result,) if type(result).__name__ == "ndarray" else tuple(tensors_in(result))
            raw.versions = tuple(map(version_of, raw.tensors))
            return result

        try:
            variable = call(spy)
        except BaseException as error:
            raw.error = error
            raise
        node = fx_node(variable)
        if node is not None and node.op == "get_attr":
            raw.target = str(node.target)
        self._sources[id(variable)] = (variable, position)
        return variable

    def constant_used(self, constant: Any) -> None:
        source = self._sources.get(id(constant))
        if source is None:  # a number of torch 2.11 is lazy: what is used is not the object that was returned
            source = next((s for s in self._sources.values() if realized(s[0]) is constant), None)
        if source is not None:
            self._pending.append((source[1], constant.value))

    def constant_derived(self, parts: list[Any], result: Any) -> None:
        """Follow a folded number through Python arithmetic: ``2 * k()`` still comes from ``k``."""
        if id(result) in self._sources and not self.folds[self._sources[id(result)][1]].marked:
            raw = self.folds[self._sources[id(result)][1]]
            raw.parents = tuple(self._sources[id(p)][1] for p in parts if id(p) in self._sources)
        elif id(result) not in self._sources:
            for part in parts:
                if id(part) in self._sources and hasattr(result, "value") and fx_node(result) is None:
                    self._sources[id(result)] = (result, self._sources[id(part)][1])
                    break

    def node_made(self, node: torch.fx.Node) -> None:
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        literals = list(_literals((node.args, node.kwargs)))
        for position, value in pending:
            if any(literal is value or (type(literal) is type(value) and literal == value) for literal in literals):
                self.folds[position].consumers.append(node)

    def inlined(self, site: Site, code: types.CodeType, fn: Any, owner: Any) -> None:
        self.inlined_calls.append(InlinedCall(code, fn, owner, site.location))

    # -- graphs -------------------------------------------------------------------------------------------------

    def _compile_graph(self, gm: torch.fx.GraphModule, example_inputs: Sequence[Any], **kwargs: Any) -> Any:
        """Copy the graph, then let the user's own backend compile it."""
        frame = self._active[-1] if self._active else None
        index = len(self.graphs)
        reason = getattr(gm, "compile_subgraph_reason", None)
        attempt = frame.attempts[-1] if frame and frame.attempts else None
        mine = {raw.target: i for i, raw in enumerate(self.folds) if raw.target and raw.site.attempt is attempt}
        self.graphs.append(
            from_fx(
                gm,
                index=index,
                name=code_name(frame.code) if frame else "forward",
                location=frame.location if frame else None,
                break_reason=_break_reason(frame, reason),
                folds={target: str(i) for target, i in mine.items()},
                inputs=example_inputs,
            )
        )
        for node in gm.graph.nodes:
            self._node_names[node] = node.name
        returned = _returned(gm)
        for target, position in mine.items():
            held = next((_example(n) for n in gm.graph.nodes if n.op == "get_attr" and n.target == target), None)
            self.folds[position].leaves = any(is_alias(held, value) for value in returned)
        if frame:
            frame.graphs.append(index)
        return self._backend(gm, example_inputs, **kwargs)

    def consumer_names(self, raw: RawFold) -> tuple[str, ...]:
        """The consumers' names in the finished graph; nodes that were dropped from it are left out."""
        return tuple(dict.fromkeys(self._node_names[n] for n in raw.consumers if n in self._node_names))

    def graph_break(self, site: Site, message: str) -> None:
        parts = split_reason(message)
        self.breaks.append(GraphBreak(parts["reason"], site.location, parts["hint"], parts["explanation"]))
        if self._active:
            self._active[-1].break_reason = parts["reason"]

    def unsupported(self, message: str) -> None:
        if self._active:
            self._active[-1].unsupported = message

    def read(self, found: MarkedRead) -> None:
        self.reads.append(found)

    def reads_of(self, fn: Any) -> list[MarkedRead]:
        """What the calls of one marked function read."""
        return [found for found in self.reads if found.fn is fn]

    def guards_built(self, manager: Any, entries: Sequence[Any]) -> None:
        """The guards of one compiled frame.  With a guard filter of the user's there is a second call, for the rest."""
        frame = self._active[-1] if self._active else None
        built = [_guard(entry, frame) for entry in entries]
        self._wanted.setdefault(id(manager), (manager, built))
        self._guards[id(manager)] = (manager, built)

    @property
    def kept_guards(self) -> tuple[Guard, ...]:
        """The guards of all compiled frames, in the order they were built."""
        return tuple(entry.guard for entry in self.guard_entries)

    @property
    def guard_entries(self) -> tuple[GuardEntry, ...]:
        """The same with the live values they guard."""
        return tuple(entry for _, entries in self._guards.values() for entry in entries)

    @property
    def wanted_guards(self) -> tuple[GuardEntry, ...]:
        """What Dynamo would guard without a guard filter of the user's."""
        return tuple(entry for _, entries in self._wanted.values() for entry in entries)


def _example(node: torch.fx.Node) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _returned(gm: torch.fx.GraphModule) -> list[Any]:
    """Stand-ins for the tensors that a graph returns, as Dynamo computed with them."""
    return [_example(node) for output in gm.graph.nodes if output.op == "output" for node in output.all_input_nodes]


def _break_reason(frame: Frame | None, reason: Any) -> str | None:
    if reason is None or not reason.graph_break:
        return None
    return (frame.break_reason if frame else "") or first_line(reason.reason)


def _guard(entry: Any, frame: Frame | None) -> GuardEntry:
    text = brief(entry.value) if entry.has_value else ""
    name = str(entry.orig_guard.name)
    guard = Guard(entry.guard_type, readable(name), text, name)
    value = entry.value if entry.has_value else None
    return GuardEntry(guard, value, entry.has_value, frame, guarded_attribute(entry.orig_guard))


def _arguments(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Argument, ...]:
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # no signature, or a call that will fail by itself
        bound = {str(i): a for i, a in enumerate(args)} | dict(kwargs)
    return tuple(Argument(name, describe(value)) for name, value in bound.items())


def _copies(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        for tensor in tensors_in([list(args), kwargs]):
            tensor.untyped_storage()  # raises for tensors that live only inside a transform
        return copy_inputs(args, kwargs)
    except (RuntimeError, NotImplementedError, MemoryError):
        return None


def _literals(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _literals(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _literals(item)
    elif isinstance(value, slice):
        yield from _literals([value.start, value.stop, value.step])
    else:
        yield value
