"""watch(): be told when compiled code goes on with a value that has changed."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from .capture.live import LISTENERS, LiveCapture, WatchedCapture, function_behind, is_comparing, living
from .capture.seam import is_listening, listen, stop_listening, unwrap
from .model import Assumption

__all__ = ["Broken", "Watch", "active", "text", "watch"]


@dataclass(frozen=True)
class Broken:
    """An assumption that no longer holds, and the function whose compiled code goes on with it."""

    function: str
    """The compiled function."""
    assumption: Assumption
    """Which marked function read what, what it was and what it is."""
    refresh: str
    """What to type to have just this function compiled anew."""

    def __str__(self) -> str:
        return text([self])


class Watch:
    """The watch that :func:`watch` starts; there is one in a process.

    >>> import constviz
    >>> with constviz.watch() as watched:
    ...     watched
    <constviz.watch: ...>
    >>> watched
    <constviz.watch: off>
    """

    def __init__(self) -> None:
        self._captures: list[WatchedCapture] = []
        self._told: set[tuple[int, str, str, str]] = set()
        self._on = True
        LISTENERS.append(self._add)
        listen(self._about_to_compile)
        for live in sorted(living(), key=lambda live: live.number):
            self._add(live)

    @property
    def functions(self) -> list[str]:
        """The functions watched, in the order in which they were captured."""
        return list(dict.fromkeys(capture.function for capture in self._alive()))

    def check(self) -> list[Broken]:
        """The assumptions that broke since the last check.  Runs none of the user's code.

        One that stays broken is not reported again; one that held in between is.  Nothing is reported of code that
        will not run as it is: nothing is compiled, a guard it kept fails too, or the stance is ``force_eager``.
        """
        if not self._on:
            return []
        missed = not is_listening(self._about_to_compile)  # torch.compiler.reset() was called
        if missed:
            listen(self._about_to_compile)
        found: list[Broken] = []
        broken: set[tuple[int, str, str, str]] = set()
        seen: set[tuple[int, str, str, str]] = set()
        for capture in self._alive():
            capture.programs.look(missed=missed)
            target = capture.target
            for assumption, would_run in capture.programs.broken():
                key = (id(function_behind(target)), assumption.function, assumption.expression, assumption.expected)
                broken.add(key)
                if would_run and key not in self._told | seen:
                    seen.add(key)
                    found.append(Broken(capture.function, assumption, _how_to_refresh(capture.function, target)))
        self._told = (self._told & broken) | seen
        return found

    def stop(self) -> None:
        """Switch it off: nothing is held or registered any more."""
        global _watch
        if not self._on:
            return
        self._on = False
        LISTENERS.remove(self._add)
        stop_listening(self._about_to_compile)
        self._captures.clear()
        if _watch is self:
            _watch = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        names = self.functions
        state = "off" if not self._on else f"watching {', '.join(names)}" if names else "no function yet"
        return f"<constviz.watch: {state}>"

    def _alive(self) -> list[WatchedCapture]:
        self._captures = [capture for capture in self._captures if capture.target is not None]
        return self._captures

    def _add(self, live: LiveCapture) -> None:
        if live.assumptions:
            others = self._alive()
            others.append(WatchedCapture(live, others))

    def _about_to_compile(self, event: Any) -> None:
        # Runs inside Dynamo: the user's compilation must go on whatever happens here.
        if is_comparing():
            return
        for capture in self._captures:
            try:
                capture.programs.about_to_compile()
            except Exception:
                capture.programs.clear()


_watch: Watch | None = None


def watch() -> Watch:
    """Watch the assumptions of every report made from now on, and of those that still exist.

    The watch is one for the whole process: a second call returns the same.  ``check()`` says which assumptions broke
    since the last check; in a notebook ``%constviz watch`` checks after each cell.

    >>> import torch, constviz
    >>> settings = {"scale": 2.0}
    >>> @torch.compiler.assume_constant_result
    ... def scale():
    ...     return settings["scale"]
    >>> def double(x):
    ...     return x * scale()
    >>> compiled, x = torch.compile(double, backend="eager"), torch.ones(1)
    >>> with constviz.watch() as watched:
    ...     report = constviz.compare(compiled, args=(x,))
    ...     y = compiled(x)
    ...     settings["scale"] = 5.0
    ...     for broken in watched.check():
    ...         print(broken)
    constviz: double goes on with an old value
      scale read settings['scale'] = 2.0; it is 5.0 now
      to compile it anew: constviz.refresh(double)
    >>> torch.compiler.reset()
    """
    global _watch
    if _watch is None:
        _watch = Watch()
    return _watch


def active() -> Watch | None:
    """The watch if it is on."""
    return _watch


def text(found: Iterable[Broken]) -> str:
    """What broke, function by function, in a few lines."""
    blocks: dict[tuple[str, str], list[Assumption]] = {}
    for broken in found:
        blocks.setdefault((broken.function, broken.refresh), []).append(broken.assumption)
    lines = []
    for (function, how), assumptions in blocks.items():
        what = "an old value" if len(assumptions) == 1 else f"{len(assumptions)} old values"
        lines.append(f"constviz: {function} goes on with {what}")
        lines += [f"  {a.function} read {a.expression} = {a.expected}; it is {a.current} now" for a in assumptions]
        lines.append(f"  to compile it anew: {how}")
    return "\n".join(lines)


def _how_to_refresh(function: str, target: Any) -> str:
    """The call to type, with the name of a variable that holds the function."""
    owner, attribute = target, ""
    if isinstance(target, types.MethodType):
        owner, attribute = target.__self__, f".{target.__name__}"
    behind, main = function_behind(target), sys.modules.get("__main__")
    for space in (vars(main) if main is not None else {}, behind.__globals__ if behind is not None else {}):
        for name, value in list(space.items()):
            plain = issubclass(type(value), (types.FunctionType, torch.nn.Module))  # to unwrap others may run code
            if not name.startswith("_") and (unwrap(value) if plain else value) is owner:
                return f"constviz.refresh({name}{attribute})"
    return f"constviz.refresh({function})"
