"""Watching Dynamo trace: folds, graph breaks, nodes, inlined functions; and choosing which marks it honours."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from ...model import Location
from ..describe import code_name
from ..graphs import source_line, source_name
from .patching import patched

__all__ = [
    "MarkedRead",
    "Observer",
    "Site",
    "fx_node",
    "guarded_attribute",
    "has_own_mark",
    "is_alias",
    "is_marked",
    "is_wrapper",
    "observing",
    "realized",
]

_MARK = "_dynamo_marked_constant"


def is_marked(fn: Any) -> bool:
    """Whether ``assume_constant_result`` was applied to exactly this object (or to the function of a method)."""
    return bool(getattr(fn, _MARK, False)) and not _is_torchs_own(fn)


def has_own_mark(value: Any) -> bool:
    """Whether the mark sits in the object's own ``__dict__``, be it a function or not."""
    try:
        return bool(vars(value).get(_MARK))
    except TypeError:
        return False


def _is_torchs_own(fn: Any) -> bool:
    # torch marks a knob of its own; it is no promise of the user's.  Both names must say so: torch.no_grad() puts a
    # function of torch's around one of the user's, and functools.wraps gives the user's the name of torch's
    function = getattr(fn, "__func__", fn)
    homes = (getattr(fn, "__module__", None), getattr(function, "__globals__", {}).get("__name__", "torch"))
    return all(str(home).split(".")[0] == "torch" for home in homes)


@dataclass(frozen=True)
class Site:
    """Where Dynamo is: the graph it is making, and the line of user code."""

    attempt: Any
    """Dynamo's output graph.  A frame may be traced several times; each attempt has its own."""
    location: Location


@dataclass(frozen=True)
class MarkedRead:
    """What one call of a marked function read while its body was traced, its mark being ignored."""

    fn: Any
    guards: frozenset[tuple[str, str]]
    """The guards that its body added: Dynamo's type and name of each."""
    sources: frozenset[str]
    """Dynamo's names for all that it looked at."""
    traced: bool
    """False if Dynamo could not trace it to the end."""
    nodes: int
    """How many graph nodes it made; none means that it computed nothing on tensors."""
    namespace: Any = None
    """The globals of the compiled frame: those that a ``G[...]`` in its guards is about."""


class FrameRecord(Protocol):
    """What became of one frame."""

    compiled: bool
    skip_reason: str


class Observer(Protocol):
    """What :func:`observing` reports to."""

    def attempt(self, output_graph: Any) -> None: ...
    def honours(self, fn: Any) -> bool: ...
    def fold(self, site: Site, fn: Any, call: Callable[[Any], Any], fixed: bool) -> Any: ...
    def inlined(self, site: Site, code: types.CodeType, fn: Any, owner: Any) -> None: ...
    def read(self, found: MarkedRead) -> None: ...
    def graph_break(self, site: Site, message: str) -> None: ...
    def unsupported(self, message: str) -> None: ...
    def constant_used(self, constant: Any) -> None: ...
    def constant_derived(self, parts: list[Any], result: Any) -> None: ...
    def node_made(self, node: torch.fx.Node) -> None: ...
    def guards_built(self, manager: Any, entries: list[Any]) -> None: ...


def _site(tx: Any) -> Site:
    code = tx.f_code
    line = tx.lineno if isinstance(getattr(tx, "lineno", None), int) else code.co_firstlineno
    return Site(tx.output, Location(code.co_filename, line, code_name(code), source_line(code.co_filename, line)))


def _calls(graph: torch.fx.Graph) -> int:
    return sum(node.op.startswith("call") for node in graph.nodes)


def realized(variable: Any) -> Any:
    """What a lazy variable became when it was first used; the variable itself if it is not lazy."""
    return getattr(getattr(variable, "_cache", None), "vt", None) or variable


def is_wrapper(code: types.CodeType) -> bool:
    """Whether Dynamo put it around a module whose own ``forward`` it does not trace alone; its ``fn`` is the module."""
    from torch._dynamo import external_utils

    return code.co_filename == external_utils.wrap_inline.__code__.co_filename


def guarded_attribute(guard: Any) -> str | None:
    """The attribute that a guard on presence or absence asks for."""
    name = getattr(guard.create_fn, "keywords", {}).get("attr")
    return name if isinstance(name, str) else None


def is_alias(one: Any, other: Any) -> bool:
    """Whether two tensors, fake ones too, share their memory."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    try:
        return bool(vars(torch._C)["_is_alias_of"](one, other))
    except (RuntimeError, NotImplementedError):  # sparse and others without storage
        return False


def _is_fixed(variables: Any) -> bool:
    """Whether some of these are tensors, and all of those are computed from nothing that differs between calls."""
    nodes = [node for variable in variables if (node := fx_node(variable)) is not None]
    seen: set[torch.fx.Node] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op not in ("call_function", "call_method") or not _is_pure(node.target):
            return False
        todo += node.all_input_nodes
    return bool(nodes)


_FACTORIES = {"arange", "eye", "full", "linspace", "logspace", "ones", "scalar_tensor", "tensor", "zeros"}
_ARITHMETIC = {
    "add",
    "div",
    "floordiv",
    "mod",
    "mul",
    "neg",
    "pow",
    "reshape",
    "sub",
    "sum",
    "t",
    "to",
    "truediv",
    "view",
}


def _is_pure(target: Any) -> bool:
    return str(getattr(target, "__name__", target)) in _FACTORIES | _ARITHMETIC


def fx_node(variable: Any) -> torch.fx.Node | None:
    """The graph node behind one of Dynamo's variables, if it has one."""
    proxy = getattr(variable, "proxy", None)
    return getattr(proxy, "node", None)


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Report what Dynamo does on this thread, and let the observer choose which marks are honoured."""
    from torch._dynamo import exc as errors
    from torch._dynamo import guards, output_graph, symbolic_convert
    from torch._dynamo.variables import base, builtin, constant, functions, nn_module

    windows: list[set[str]] = []

    def user_function(original: Any, self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        original(self, fn, *args, **kwargs)
        if self.is_constant and not observer.honours(fn):
            self.is_constant = False

    def invoke(original: Any, tx: Any, fn: Any, name: str, args: Any, kwargs: Any) -> Any:
        fixed = _is_fixed([*args, *kwargs.values()])
        return observer.fold(_site(tx), fn, lambda spy: original(tx, spy, name, args, kwargs), fixed)

    def inline(original: Any, parent: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        owner = getattr(getattr(func, "obj", None), "value", None)
        fn, graph = getattr(func, "fn", None), parent.output.graph
        observer.inlined(_site(parent), func.get_code(), fn, owner)
        if not is_marked(fn):
            return original(parent, func, *args, **kwargs)
        known, made = set(parent.output.guards), _calls(graph)
        traced = False
        outer, sources = windows[-1] if windows else set(), set[str]()
        windows.append(sources)
        try:
            result = original(parent, func, *args, **kwargs)
            traced = True
            return result
        finally:
            new = {(guard.create_fn_name(), guard.name) for guard in parent.output.guards if guard not in known}
            outer |= windows.pop()
            nodes, namespace = _calls(graph) - made, parent.output.root_tx.f_globals
            observer.read(MarkedRead(fn, frozenset(new), frozenset(sources), traced, nodes, namespace))

    def build(original: Any, tx: Any, value: Any, source: Any = None, *args: Any, **kwargs: Any) -> Any:
        # a number is guarded when it is used, often after its reader has returned: note who first named it
        if windows and source is not None:
            windows[-1].add(source_name(source))
        return original(tx, value, source, *args, **kwargs)

    def log_break(original: Any, self: Any, code_options: Any, reason: str, exc: Any) -> Any:
        if not getattr(exc, "logged", False):
            observer.graph_break(_site(self), str(getattr(exc, "msg", None) or exc))
        return original(self, code_options, reason, exc)

    def unsupported(original: Any, self: Any, msg: str, *args: Any, **kwargs: Any) -> None:
        original(self, msg, *args, **kwargs)
        observer.unsupported(str(msg))

    def new_attempt(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        observer.attempt(self)
        original(self, *args, **kwargs)

    def create_proxy(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        proxy = original(self, *args, **kwargs)
        observer.node_made(proxy.node)
        return proxy

    def as_proxy(original: Any, self: Any) -> Any:
        observer.constant_used(self)
        return original(self)

    def call_builtin(original: Any, self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        result = original(self, tx, args, kwargs)
        observer.constant_derived([*args, *kwargs.values()], result)
        return result

    def build_guards(original: Any, self: Any, wanted: Any, *args: Any, **kwargs: Any) -> Any:
        # as a guard_filter_fn would see them; a filter of our own would make Dynamo build all guards twice
        builder, manager = original(self, wanted, *args, **kwargs)
        observer.guards_built(self, [guards.make_guard_filter_entry(guard, builder) for guard in wanted])
        return builder, manager

    translator = symbolic_convert.InliningInstructionTranslator
    with contextlib.ExitStack() as stack:
        for owner, name, hook in (
            (functions.UserFunctionVariable, "__init__", user_function),
            (functions, "invoke_and_store_as_constant", invoke),
            (nn_module, "invoke_and_store_as_constant", invoke),
            (symbolic_convert.InstructionTranslatorBase, "log_graph_break", log_break),
            (errors.Unsupported, "__init__", unsupported),
            (output_graph.OutputGraph, "__init__", new_attempt),
            (output_graph.SubgraphTracer, "create_proxy", create_proxy),
            (constant.ConstantVariable, "as_proxy", as_proxy),
            (builtin.BuiltinVariable, "call_function", call_builtin),
            (guards.CheckFunctionManager, "build_guards", build_guards),
        ):
            stack.enter_context(patched(owner, name, hook))
        stack.enter_context(patched(base.VariableTracker, "build", build, kind=staticmethod))
        stack.enter_context(patched(translator, "inline_call", inline, kind=classmethod))
        yield
