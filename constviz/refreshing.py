"""refresh(): have one function compiled anew, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .capture.live import captured_codes, function_behind
from .capture.seam import drop_entries, unwrap, with_resumed

__all__ = ["refresh"]


def refresh(fn: Callable[..., Any]) -> None:
    """Forget what ``torch.compile`` made of one function: its next call compiles it anew, with today's values.

    PyTorch's own ``torch.compiler.reset()`` does that for every function.  What Dynamo resumes after a graph break,
    and the functions that :func:`constviz.compare` saw compiled as frames of their own, are forgotten too.
    All functions compiled from the same code are (the methods of two instances, say); so are, for a module of
    PyTorch's own such as ``nn.Sequential``, other such modules.

    Args:
        fn: a function, method or module, compiled by ``torch.compile`` or not.

    Raises:
        TypeError: ``fn`` is not a Python function, method or module, or an object whose class has ``__call__``.

    >>> import torch, constviz
    >>> settings = {"scale": 2.0}
    >>> @torch.compiler.assume_constant_result
    ... def scale():
    ...     return settings["scale"]
    >>> f = torch.compile(lambda x: x * scale(), backend="eager")
    >>> f(torch.ones(1))
    tensor([2.])
    >>> settings["scale"] = 5.0
    >>> f(torch.ones(1))
    tensor([2.])
    >>> constviz.refresh(f)
    >>> f(torch.ones(1))
    tensor([5.])
    >>> torch.compiler.reset()
    """
    target = unwrap(fn)
    function = function_behind(target)
    if function is None:
        raise TypeError(f"refresh needs a Python function, method or module, not {type(target).__name__}")
    codes = [(function.__code__, function.__globals__), *captured_codes(target)]
    drop_entries(list(with_resumed(codes)))
