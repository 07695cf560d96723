"""Watching compiled functions being called.

Every compiled callable asks ``eval_frame._callback_from_stance`` for its callback before it runs, however and whenever
it was compiled: that is where we stand.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..describe import function_name
from .options import CompileOptions, options_of, unwrap
from .patching import patched

__all__ = ["CompiledCall", "Watch", "nested_compiles_run_as", "watch_calls"]


@contextlib.contextmanager
def nested_compiles_run_as(callback: Any) -> Iterator[list[Any]]:
    """Compiled functions called inside a capture are traced by it (or run eagerly, for None), not by their own.

    The callbacks that were replaced are put into the list.
    """
    from torch._dynamo import eval_frame

    replaced: list[Any] = []

    def choose(original: Any, requested: Any) -> Any:
        if requested in (None, False) or requested is callback:
            return requested
        replaced.append(requested)
        return callback

    with patched(eval_frame, "_callback_from_stance", choose):
        yield replaced


@dataclass(frozen=True)
class CompiledCall:
    """One call of a compiled function, seen before it runs."""

    fn: Any
    """The user's function, bound method or module."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: CompileOptions
    name: str


class Watch:
    """An open watch; ``forget()`` makes functions already seen be reported again."""

    def __init__(self) -> None:
        self.seen: dict[Any, Any] = {}

    def forget(self) -> None:
        self.seen.clear()


@contextlib.contextmanager
def watch_calls(on_call: Callable[[CompiledCall], None]) -> Iterator[Watch]:
    """Report the first call of each compiled function on any thread, however and whenever it was compiled.

    A function already seen costs one look-up.
    """
    from torch._dynamo import eval_frame

    watch = Watch()
    seen = watch.seen
    original = eval_frame._callback_from_stance

    def watched(callback: Any) -> Any:
        if id(callback) in seen or callback is None or callback is False:
            return original(callback)
        caller = sys._getframe(1)
        if caller.f_code.co_name == "compile_wrapper":
            names = caller.f_locals
            if (id(callback), id(names["fn"])) not in seen:
                _tell(names, callback, seen, on_call)
        return original(callback)

    eval_frame._callback_from_stance = watched
    try:
        yield watch
    finally:
        if eval_frame._callback_from_stance is watched:
            eval_frame._callback_from_stance = original


def _tell(names: dict[str, Any], callback: Any, seen: dict[Any, Any], on_call: Callable[[CompiledCall], None]) -> None:
    # ids are reused: what is seen is kept alive.  One optimize() context may serve many functions.
    seen[id(callback), id(names["fn"])] = (callback, names["fn"])
    try:
        options = options_of(names["self"])
        if type(options.backend).__name__.startswith("_TorchCompile"):
            seen[id(callback)] = callback
        fn = unwrap(names["fn"])
    except Exception:  # another PyTorch, another shape of its insides: the user's call must go on
        return
    on_call(CompiledCall(fn, names["args"], names["kwargs"], options, function_name(fn)))
