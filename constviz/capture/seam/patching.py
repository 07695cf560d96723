"""One way to patch, used by every other room of the seam."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["patched"]


@contextlib.contextmanager
def patched(owner: Any, name: str, hook: Callable[..., Any], kind: Any = None) -> Iterator[None]:
    """Run ``hook(original, ...)`` in place of ``owner.name`` on this thread; put the very same object back."""
    thread = threading.get_ident()
    stored = vars(owner)[name]
    original = getattr(owner, name)

    @functools.wraps(original)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        if kind is classmethod:
            args = args[1:]
        if threading.get_ident() != thread:
            return original(*args, **kwargs)
        return hook(original, *args, **kwargs)

    setattr(owner, name, kind(replacement) if kind else replacement)
    try:
        yield
    finally:
        setattr(owner, name, stored)
