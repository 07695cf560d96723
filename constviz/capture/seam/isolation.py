"""Compiling beside the user's own compiled code, and taking back every trace of it."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from .options import CompileOptions, unwrap

__all__ = [
    "compiled_graph_names", "dynamo_state_kept", "forget_code", "generated_kernels", "has_cache_entries", "isolated",
    "leave_alone", "release_names",
]  # fmt: skip


class FrameObserver(Protocol):
    """What is told of each frame that Dynamo looks at."""

    def frame(
        self, code: types.CodeType, f_globals: dict[str, Any], f_locals: dict[str, Any]
    ) -> contextlib.AbstractContextManager[Any]: ...


class _FrameWatcher:
    """Dynamo's frame callback with an observer around it; the backend stays visible to Dynamo's cache."""

    def __init__(self, callback: Any, observer: FrameObserver) -> None:
        self._torchdynamo_orig_backend = callback
        self.observer = observer

    def __call__(self, frame: Any, *args: Any) -> Any:
        with self.observer.frame(frame.f_code, frame.f_globals, dict(frame.f_locals)) as record:
            result = self._torchdynamo_orig_backend(frame, *args)
            record.compiled = result.guarded_code is not None
            record.skip_reason = getattr(result, "skip_reason", None) or ""
            return result


def isolated(fn: Any, backend: Any, options: CompileOptions, observer: FrameObserver) -> tuple[Callable[..., Any], Any]:
    """Compile ``fn`` with entries of its own, so that neither the user's nor ours are seen by the other.

    Returns the compiled callable, and Dynamo's callback for :func:`nested_compiles_run_as`.
    """
    import torch._dynamo
    from torch._dynamo.eval_frame import _optimize, cached_backends

    keywords: dict[str, Any] = {"nopython": options.fullgraph, "dynamic": options.dynamic}
    if "isolate_recompiles" in inspect.signature(_optimize).parameters:  # since torch 2.12
        keywords["isolate_recompiles"] = True
    context = torch._dynamo.optimize(backend, guard_filter_fn=options.guard_filter, **keywords)
    if not hasattr(context, "callback"):
        return fn, None  # Dynamo is switched off
    cached_backends.pop(id(backend), None)  # else the backend would live until torch._dynamo.reset()
    context.callback = _FrameWatcher(context.callback, observer)
    return context(_with_own_code(fn)), context.callback


def _with_own_code(fn: Any) -> Any:
    """The same callable on a copied code object: cache entries hang on code, and the user's must not see ours."""
    from torch._dynamo import external_utils, trace_rules

    if isinstance(fn, types.FunctionType):
        code = fn.__code__.replace(co_name=fn.__code__.co_name)
        twin = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        twin.__kwdefaults__ = fn.__kwdefaults__
        twin.__qualname__ = fn.__qualname__
        twin.__module__ = fn.__module__
        twin.__dict__.update({k: v for k, v in fn.__dict__.items() if k != "__wrapped__"})
        return twin
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return types.MethodType(_with_own_code(fn.__func__), fn.__self__)
    if isinstance(fn, torch.nn.Module):
        forward = unwrap(fn.forward)
        if not isinstance(forward, types.MethodType) or not trace_rules.check(forward):
            if _calls_plain_forward(fn) and isinstance(forward, types.MethodType):
                return _with_own_code(forward)
            return fn.__call__
        return external_utils.wrap_inline(fn)  # a torch.nn module: what torch.compile does itself
    return fn


def _calls_plain_forward(module: torch.nn.Module) -> bool:
    plain = torch.nn.Module
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    everywhere = ("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks")
    return (
        type(module).__call__ is plain.__call__
        and type(module)._call_impl is plain._call_impl
        and not any(getattr(module, name, None) for name in hooks)
        and not any(getattr(torch.nn.modules.module, name, None) for name in everywhere)
        and not hasattr(module, "_initialize_hook")
    )


def compiled_graph_names(names: list[str]) -> list[str]:
    """Of the globals that tracing added, those that hold a compiled graph."""
    return [name for name in names if name.startswith("__compiled_fn_")]


def leave_alone(fn: Callable[..., Any]) -> None:
    """Keep Dynamo from looking at a function of ours that compiled code calls."""
    _set_action(fn.__code__, "SKIP")


def _set_action(code: types.CodeType, action: str) -> None:
    """What Dynamo does with a frame of the code; those inside of it are treated as ever."""
    from torch._C._dynamo.eval_frame import set_code_exec_strategy
    from torch._dynamo import types as dynamo_types

    names: Any = vars(dynamo_types)  # they are re-exported there without saying so
    actions = names["FrameAction"]
    set_code_exec_strategy(code, names["FrameExecStrategy"](getattr(actions, action), actions.DEFAULT))


def generated_kernels() -> int:
    """How many kernels Inductor generated in this process, those out of its cache included."""
    metrics = sys.modules.get("torch._inductor.metrics")
    return int(metrics.generated_kernel_count) if metrics is not None else 0


def has_cache_entries(code: types.CodeType) -> bool:
    """Whether Dynamo holds compiled code for ``code``."""
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

    return bool(_debug_get_cache_entry_list(code))


def forget_code(code: types.CodeType, backend: Any, *, had_entries: bool, skipped: bool) -> None:
    """Take back what a capture left on a code object: its cache entries, and the order to skip the frame."""
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list, reset_code
    from torch._dynamo.guards import DeletedGuardManagerWrapper

    if not had_entries:
        reset_code(code)
        return
    for entry in _debug_get_cache_entry_list(code):
        if entry.backend is backend:
            manager: Any = entry.guard_manager
            manager.extra_state.invalidate(manager.cache_entry, DeletedGuardManagerWrapper("constviz is done"))
    if skipped:
        _set_action(code, "DEFAULT")


def release_names(namespace: dict[str, Any], names: list[str]) -> None:
    """Remove globals that tracing added, and with them Dynamo's own later intent to remove them."""
    from torch._dynamo.utils import CleanupManager

    gone = set(names)
    for hooks in list(CleanupManager.instance.values.values()):
        hooks[:] = [hook for hook in hooks if not (hook.scope is namespace and hook.name in gone)]
    for name in gone:
        namespace.pop(name, None)


@contextlib.contextmanager
def dynamo_state_kept() -> Iterator[None]:
    """Dynamo's counters, its memory of dynamic shapes and its list of break reasons, put back at the end."""
    from torch._dynamo import output_graph, pgo
    from torch._dynamo.utils import counters

    counts = {key: value.copy() for key, value in counters.items()}
    shapes = pgo._CODE_STATE, pgo._INIT_CODE_STATE
    break_reasons: list[Any] = vars(output_graph)["graph_break_reasons"]
    reasons = len(break_reasons)
    pgo._CODE_STATE, pgo._INIT_CODE_STATE = copy.deepcopy(shapes)
    try:
        yield
    finally:
        pgo._CODE_STATE, pgo._INIT_CODE_STATE = shapes
        del break_reasons[reasons:]
        counters.clear()
        counters.update(counts)
