"""What a compiled callable was made of: the user's function, and the options torch.compile was given."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

__all__ = ["CompileOptions", "compiled_parts", "freezes_parameters", "options_for", "options_of", "unwrap"]


@dataclass(frozen=True)
class CompileOptions:
    """How a function is compiled: what ``torch.compile`` was given, in the form Dynamo keeps it."""

    backend: Callable[..., Any]
    name: str
    """The backend's name."""
    fullgraph: bool = False
    dynamic: bool | None = None
    guard_filter: Callable[..., Any] | None = None
    details: dict[str, str] = field(default_factory=dict)

    def as_text(self) -> dict[str, str]:
        """What a reader should know: the backend, and whatever is not the default."""
        text = {"backend": self.name}
        if self.fullgraph:
            text["fullgraph"] = "True"
        if self.dynamic is not None:
            text["dynamic"] = str(self.dynamic)
        return {**text, **self.details}


def options_for(**torch_compile_options: Any) -> CompileOptions:
    """The options as ``torch.compile`` itself reads them; its own errors for those it refuses."""
    if isinstance(torch_compile_options.get("options"), dict):
        torch_compile_options["options"] = dict(torch_compile_options["options"])  # torch.compile pops from it
    compiled = torch.compile(lambda: None, **torch_compile_options)
    parts = compiled_parts(compiled)
    if parts is None:
        raise RuntimeError("torch.compile is disabled (disable=True or TORCHDYNAMO_DISABLE=1): nothing to capture")
    return parts[1]


def freezes_parameters(options: CompileOptions) -> bool:
    """Whether Inductor will burn in the parameters too, mark or no mark (``torch._inductor.config.freezing``)."""
    if options.name != "inductor" or torch.is_grad_enabled():
        return False
    from torch._inductor import config

    own = getattr(options.backend, "config", None)
    return bool(own.get("freezing", config.freezing) if isinstance(own, dict) else config.freezing)


def compiled_parts(fn: Any) -> tuple[Any, CompileOptions] | None:
    """The user's own callable and the options behind a compiled one; None if ``fn`` is not compiled."""
    if isinstance(fn, types.MethodType):
        parts = compiled_parts(fn.__func__)
        return parts and (types.MethodType(parts[0], fn.__self__), parts[1])
    if isinstance(fn, torch.nn.Module):
        return _compiled_module_parts(fn)
    context = _context_of(fn)
    if context is None:
        return None
    return unwrap(fn), options_of(context)


def _compiled_module_parts(module: torch.nn.Module) -> tuple[Any, CompileOptions] | None:
    context = module.__dict__.get("dynamo_ctx")
    if context is not None:
        return unwrap(module), options_of(context)
    in_place = module.__dict__.get("_compiled_call_impl")  # module.compile()
    if in_place is not None and (context := _context_of(in_place)) is not None:
        return module, options_of(context)
    forward = getattr(type(module), "forward", None)  # @torch.compile over def forward
    if (context := _context_of(forward)) is not None:
        return module, options_of(context)
    return None


def _context_of(fn: Any) -> Any:
    code = getattr(fn, "__code__", None)
    if code is None or code.co_name != "compile_wrapper" or "self" not in code.co_freevars:
        return None
    return fn.__closure__[code.co_freevars.index("self")].cell_contents


def options_of(context: Any) -> CompileOptions:
    from torch._dynamo.eval_frame import innermost_backend

    backend = innermost_backend(context.callback)
    name = getattr(backend, "compiler_name", None) or getattr(backend, "__name__", None) or type(backend).__name__
    config = getattr(backend, "config", None)
    details = {k: str(v) for k, v in config.items()} if isinstance(config, dict) else {}
    return CompileOptions(
        backend=backend,
        name=str(name).rsplit(".", 1)[-1],
        fullgraph=bool(context.fullgraph),
        dynamic=context._dynamic,
        guard_filter=getattr(getattr(context, "_hooks", None), "guard_filter_fn", None)
        or getattr(getattr(context.callback, "hooks", None), "guard_filter_fn", None),
        details=details,
    )


def unwrap(fn: Any) -> Any:
    """The user's own callable inside whatever torch.compile made of it."""
    if isinstance(fn, torch.nn.Module):
        return fn._modules.get("_orig_mod", fn) if "dynamo_ctx" in fn.__dict__ else fn
    if isinstance(fn, types.MethodType):
        owner = fn.__self__
        if isinstance(owner, torch.nn.Module) and fn.__name__ in ("_wrapped_call_impl", "_call_impl", "__call__"):
            return unwrap(owner)
        return types.MethodType(unwrap(fn.__func__), owner)
    code = getattr(fn, "__code__", None)
    if code is None:
        return fn
    if _context_of(fn) is not None:
        inner = fn.__closure__[code.co_freevars.index("fn")].cell_contents
        return unwrap(inner)
    if code.co_name == "inner" and code.co_filename.endswith("external_utils.py"):  # Dynamo's wrap_inline
        return unwrap(fn.__wrapped__)
    return fn
