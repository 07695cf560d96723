"""What ``%load_ext constviz`` puts into a shell, and ``%unload_ext constviz`` takes out again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from .completion import Matcher
from .magics import ConstvizMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load", "unload"]

_MAGICS = {"line": ("constfold", "constviz"), "cell": ("constfold",)}
_MATCHER = "constviz"


def load(ipython: InteractiveShell) -> None:
    """Add the magics to a shell.  Loading again starts afresh."""
    unload(ipython)
    magics = ConstvizMagics(ipython)
    ipython.register_magics(magics)
    ipython.input_transformers_cleanup.append(magics.cells.transform)
    for event in ("pre_run_cell", "post_run_cell", "post_execute"):
        ipython.events.register(event, getattr(magics.cells, event))
    if ipython.Completer is not None:
        ipython.Completer.custom_matchers.append(Matcher(ipython).match)


def unload(ipython: InteractiveShell) -> None:
    """Take everything out of a shell, also in the middle of a ``%%constfold`` cell."""
    magics = ipython.magics_manager.registry.pop(ConstvizMagics.__name__, None)
    if magics is None:
        return
    magics.cells.close()
    magics.watch.stop()
    for kind, names in _MAGICS.items():  # IPython has no call for this
        for name in names:
            ipython.magics_manager.magics[kind].pop(name, None)
    with contextlib.suppress(ValueError):
        ipython.input_transformers_cleanup.remove(magics.cells.transform)
    for event in ("pre_run_cell", "post_run_cell", "post_execute"):
        with contextlib.suppress(ValueError):
            ipython.events.unregister(event, getattr(magics.cells, event))
    if ipython.Completer is not None:
        ipython.Completer.custom_matchers[:] = [
            matcher
            for matcher in ipython.Completer.custom_matchers
            if getattr(matcher, "matcher_identifier", None) != _MATCHER
        ]
