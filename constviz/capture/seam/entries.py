"""The compiled code that hangs on a function: what there is, what of it runs, dropping it, hearing of more."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["compiled_code_runs", "drop_entries", "entries", "is_listening", "listen", "stop_listening", "with_resumed"]


def entries(code: types.CodeType) -> list[types.CodeType]:
    """The bytecode of each cache entry; it lives as long as the entry."""
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

    found = (entry.code for entry in _debug_get_cache_entry_list(code))
    return [compiled for compiled in found if compiled is not None]  # it is None once its guards are void


def with_resumed(codes: Iterable[tuple[types.CodeType, dict[str, Any]]]) -> Iterator[types.CodeType]:
    """Each code, given with its globals, and the functions in which Dynamo goes on with it after a graph break.

    Those are found again when the code is compiled anew, with what they had been compiled to.
    """
    todo, seen = list(codes), set()
    while todo:
        code, namespace = todo.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        yield code
        for compiled in entries(code):
            for constant in compiled.co_consts:  # torch 2.11, where there are closure variables
                if isinstance(constant, types.CodeType) and constant.co_name.startswith("torch_dynamo_resume_in_"):
                    todo.append((constant, namespace))
            for name in compiled.co_names:
                if name.startswith("__resume_at_"):
                    todo += [(resumed, namespace) for resumed in _resumed(namespace.get(name))]


def _resumed(stored: Any) -> list[types.CodeType]:
    """The code to resume in: that of a function, or what it makes one of if there are closure variables."""
    if isinstance(stored, types.CodeType):
        return [stored]
    if not isinstance(stored, types.FunctionType):
        return []
    held = [cell.cell_contents for cell in stored.__closure__ or ()] + list(stored.__defaults__ or ())
    return [stored.__code__, *(part for part in held if isinstance(part, types.CodeType))]


def drop_entries(codes: Iterable[types.CodeType]) -> None:
    """Forget what was compiled for these, and that any was to be left to plain Python."""
    from torch._C._dynamo.eval_frame import reset_code

    for code in codes:
        reset_code(code)


def compiled_code_runs() -> bool:
    """False under ``torch.compiler.set_stance("force_eager")``."""
    from torch._dynamo import eval_frame

    return bool(eval_frame._stance.stance != "force_eager")


def listen(on_compile: Callable[[Any], None]) -> None:
    """Call ``on_compile`` each time Dynamo is about to compile, until ``torch.compiler.reset()``."""
    from torch._dynamo.callback import callback_handler

    callback_handler.register_start_callback(on_compile)


def is_listening(on_compile: Callable[[Any], None]) -> bool:
    """Whether it would still be called."""
    from torch._dynamo.callback import callback_handler

    return on_compile in callback_handler.start_callbacks


def stop_listening(on_compile: Callable[[Any], None]) -> None:
    """Undo :func:`listen`."""
    from torch._dynamo.callback import callback_handler

    if is_listening(on_compile):
        callback_handler.remove_start_callback(on_compile)
