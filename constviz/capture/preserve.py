"""Leaving no trace: the state a program can reach, remembered and put back in place."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import itertools
import os
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from .copies import put_back, same_bits
from .memory import copied
from .reach import file_of, is_library, is_opaque, names_in, slots_of

__all__ = ["Snapshot", "kept"]

_LIMIT = 200_000
"""Objects looked at before a snapshot stops following references."""

_LEAF_TYPES = (
    bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size, types.CodeType, range,
)  # fmt: skip


_SEQUENCES: tuple[Any, ...] = ([], (), "", b"", range(0), bytearray())
_ITERATORS = tuple(type(iter(sequence)) for sequence in _SEQUENCES)
"""Iterators that can be set back, until they are used up."""


Undo = Callable[[], None]


class Snapshot:
    """What can be reached from some roots, as of now.

    Followed: containers, attributes of objects, modules and their parameters and buffers, closures, the globals and
    class attributes that reachable functions name, ``os.environ`` and context variables, and the states of the random
    generators of torch, numpy and Python.  Not followed: files, clocks, caches kept in C (``functools.lru_cache``) and
    the globals of installed libraries.
    """

    def __init__(self, *roots: Any) -> None:
        self._seen: dict[int, Any] = {}
        self._undo: list[Undo] = []
        self._tensors: list[tuple[torch.Tensor, torch.Tensor, Any, torch.Tensor | None]] = []
        self._counts: list[tuple[Any, str]] = []
        self._rewound: dict[int, Any] = {}
        self._keep_ambient()
        queue = collections.deque(roots)
        while queue and len(self._seen) < _LIMIT:
            self._visit(queue.popleft(), queue)

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors found, in the order they were found."""
        return [entry[0] for entry in self._tensors]

    def is_changed(self) -> bool:
        """Whether a tensor holds something else by now."""
        plain = [(t, c) for t, c, *_ in self._tensors if t.layout is torch.strided and not t.is_nested]
        return any(t.shape != c.shape or not same_bits(t.detach(), c) for t, c in plain)

    def restore(self) -> None:
        """Put everything back, in place.  May be called more than once."""
        self._rewound = {id(c): _count_from(text) for c, text in self._counts if repr(c) != text}
        for undo in self._undo:
            undo()
        for tensor, content, grad, grad_content in self._tensors:
            if tensor.is_leaf and tensor.grad is not grad:
                tensor.grad = grad
            if grad is not None and grad_content is not None:
                put_back(grad, grad_content)
            put_back(tensor, content)

    def _then(self, value: Any) -> Any:
        """What stood there: the value itself, or a new counter for one that has moved on and cannot go back."""
        return self._rewound.get(id(value), value)

    # -- following references -----------------------------------------------------------------------------------

    def _visit(self, value: Any, queue: collections.deque[Any]) -> None:
        if isinstance(value, _LEAF_TYPES) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, torch.Tensor):
            self._keep_tensor(value)
        elif isinstance(value, (dict, list, set, collections.deque, bytearray)):
            self._keep_container(value, queue)
            self._keep_attributes(value, queue)
        elif isinstance(value, (tuple, frozenset)):
            queue.extend(value)
        elif isinstance(value, types.FunctionType):
            self._keep_function(value, queue)
        elif isinstance(value, types.MethodType):
            queue.extend((value.__self__, value.__func__))
        elif isinstance(value, functools.partial):
            queue.extend((value.func, value.args, value.keywords))
        elif isinstance(value, (classmethod, staticmethod)):
            queue.append(value.__func__)
        elif isinstance(value, property):
            queue.extend(f for f in (value.fget, value.fset) if f is not None)
        elif isinstance(value, type):
            self._keep_class(value, queue)
        elif isinstance(value, types.CellType):
            self._keep_cell(value, queue)
        elif not isinstance(value, types.ModuleType):
            self._keep_object(value, queue)

    def _keep_iterator(self, iterator: Any) -> None:
        left = iterator.__reduce__()
        if len(left) > 2:  # else it is used up, and stays so
            self._undo.append(functools.partial(iterator.__setstate__, left[2]))

    def _keep_ambient(self) -> None:
        environ = dict(os.environ)
        python, numpy = random.getstate(), sys.modules.get("numpy")
        arrays = numpy.random.get_state() if numpy is not None else None
        cpu = torch.get_rng_state()
        cuda = torch.cuda.get_rng_state_all() if _uses_cuda() else None
        modes = torch.is_grad_enabled(), torch.get_default_dtype()
        context = list(contextvars.copy_context().items())

        def undo() -> None:
            random.setstate(python)
            if numpy is not None:
                numpy.random.set_state(arrays)
            torch.set_rng_state(cpu)
            if cuda is not None:
                torch.cuda.set_rng_state_all(cuda)
            torch.set_grad_enabled(modes[0])
            if torch.get_default_dtype() != modes[1]:
                torch.set_default_dtype(modes[1])
            if dict(os.environ) != environ:
                os.environ.clear()
                os.environ.update(environ)
            for variable, value in context:
                if variable.get(None) is not value:
                    variable.set(value)

        self._undo.append(undo)

    def _keep_tensor(self, tensor: torch.Tensor) -> None:
        if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
            self._undo.append(functools.partial(_uninitialize, tensor, type(tensor)))
            return
        try:
            content = copied(tensor)
            grad = tensor.grad if tensor.is_leaf else None
        except Exception:  # functorch-wrapped, fake, released storage
            return
        if tensor.is_leaf:
            self._undo.append(functools.partial(_want_grad, tensor, tensor.requires_grad))
        self._tensors.append((tensor, content, grad, None if grad is None else copied(grad)))

    def _keep_container(self, value: Any, queue: collections.deque[Any]) -> None:
        if isinstance(value, dict):
            items = list(value.items())
            queue.extend(v for _, v in items)
            plain: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict

            def undo() -> None:
                then = [(k, self._then(v)) for k, v in items]
                if len(value) == len(then):
                    pairs = zip(value.items(), then, strict=True)
                    if all(k is k0 and v is v0 for (k, v), (k0, v0) in pairs):
                        return
                plain.clear(value)
                for k, v in then:
                    plain.__setitem__(value, k, v)

        elif isinstance(value, bytearray):
            data = bytes(value)

            def undo() -> None:
                value[:] = data

        else:
            members = list(value)
            queue.extend(members)

            def undo() -> None:
                now, then = list(value), [self._then(member) for member in members]
                if len(now) != len(then) or any(a is not b for a, b in zip(now, then, strict=True)):
                    if isinstance(value, list):
                        list.__setitem__(value, slice(None), then)
                    else:
                        value.clear()
                        (value.update if isinstance(value, set) else value.extend)(then)

        self._undo.append(undo)

    def _keep_function(self, fn: types.FunctionType, queue: collections.deque[Any]) -> None:
        queue.extend(fn.__closure__ or ())
        queue.extend(fn.__defaults__ or ())
        queue.extend((fn.__kwdefaults__ or {}).values())
        if fn.__dict__:
            queue.append(fn.__dict__)
        if is_library(fn.__code__.co_filename):
            return
        self._keep_names(fn.__globals__, names_in(fn.__code__), queue)

    def _keep_names(self, namespace: dict[str, Any], names: set[str], queue: collections.deque[Any]) -> None:
        absent = object()
        values = {name: namespace.get(name, absent) for name in names}
        for value in values.values():
            if isinstance(value, types.ModuleType):
                if not is_library(file_of(value)):
                    self._keep_names(vars(value), names & vars(value).keys(), queue)
            elif value is not absent:
                queue.append(value)

        def undo() -> None:
            for name, value in values.items():
                if value is absent:
                    namespace.pop(name, None)
                elif namespace.get(name, absent) is not self._then(value):
                    namespace[name] = self._then(value)

        self._undo.append(undo)

    def _keep_cell(self, cell: types.CellType, queue: collections.deque[Any]) -> None:
        try:
            content = cell.cell_contents
        except ValueError:  # empty
            return
        queue.append(content)

        def undo() -> None:
            cell.cell_contents = self._then(content)

        self._undo.append(undo)

    def _keep_class(self, cls: type, queue: collections.deque[Any]) -> None:
        module = sys.modules.get(cls.__module__)
        if module is None or is_library(file_of(module)) or cls.__module__ == "builtins":
            return
        values = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__", "__doc__")}
        queue.extend(values.values())
        queue.extend(cls.__bases__)

        def undo() -> None:
            for name, value in values.items():
                if vars(cls).get(name) is not self._then(value):
                    with contextlib.suppress(AttributeError, TypeError):
                        setattr(cls, name, self._then(value))

        self._undo.append(undo)

    def _keep_attributes(self, value: Any, queue: collections.deque[Any]) -> None:
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            queue.append(attributes)

    def _keep_object(self, value: Any, queue: collections.deque[Any]) -> None:
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray):
            self._keep_array(value)
        elif isinstance(value, torch.Generator):
            self._remember(value.get_state(), value.set_state)
        elif isinstance(value, itertools.count):
            self._counts.append((value, repr(value)))
        elif type(value) in _ITERATORS:
            self._keep_iterator(value)
        elif isinstance(value, random.Random):
            self._remember(value.getstate(), value.setstate)
        elif numpy is not None and isinstance(value, numpy.random.Generator):
            bits = value.bit_generator
            self._remember(bits.state, functools.partial(setattr, bits, "state"))
        elif isinstance(value, threading.local):
            queue.append(value.__dict__)
        elif not is_opaque(type(value)):
            queue.append(type(value))
            self._keep_kind(value)
            self._keep_attributes(value, queue)
            self._keep_slots(value, queue)

    def _keep_kind(self, value: Any) -> None:
        kind = type(value)

        def undo() -> None:
            if type(value) is not kind:  # a lazy module becomes a plain one when it first runs
                value.__class__ = kind

        self._undo.append(undo)

    def _keep_array(self, array: Any) -> None:
        content = array.copy()

        def undo() -> None:
            if array.dtype == object or array.tobytes() != content.tobytes():
                array[...] = content

        self._undo.append(undo)

    def _remember(self, state: Any, put: Callable[[Any], Any]) -> None:
        self._undo.append(lambda: put(state) and None)

    def _keep_slots(self, value: Any, queue: collections.deque[Any]) -> None:
        slots = {name for cls in type(value).__mro__ for name in slots_of(cls)}
        values = {name: getattr(value, name) for name in sorted(slots) if hasattr(value, name)}
        if not values:
            return
        queue.extend(values.values())

        def undo() -> None:
            for name, content in values.items():
                if getattr(value, name, None) is not self._then(content):
                    object.__setattr__(value, name, self._then(content))

        self._undo.append(undo)


@contextlib.contextmanager
def kept(*roots: Any) -> Iterator[Snapshot]:
    """Everything reachable from ``roots`` is put back at the end, also after an exception or an interrupt."""
    snapshot = Snapshot(*roots)
    try:
        yield snapshot
    finally:
        snapshot.restore()


def _uses_cuda() -> bool:
    return torch.cuda.is_available() and bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


def _want_grad(tensor: torch.Tensor, wanted: bool) -> None:
    if tensor.is_leaf and tensor.requires_grad is not wanted:
        tensor.requires_grad_(wanted)


def _uninitialize(tensor: Any, kind: type) -> None:
    if type(tensor) is not kind:
        tensor.data = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        tensor.__class__ = kind


def _count_from(text: str) -> Any:
    numbers = [float(n) if "." in n or "e" in n else int(n) for n in text[len("count(") : -1].split(", ")]
    return itertools.count(*numbers)
