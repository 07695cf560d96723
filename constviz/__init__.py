"""See what ``torch.compiler.assume_constant_result`` did to your program, before and after.

>>> import torch, constviz
>>> @torch.compiler.assume_constant_result
... def scale():
...     return 3.0
>>> def f(x):
...     return x * scale()
>>> report = constviz.compare(f, args=(torch.ones(2),), backend="eager")
>>> report.folds[["function", "result", "outcome"]].values.tolist()
[['scale', '3.0', 'folded']]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .comparison import compare
    from .refreshing import refresh
    from .report import FoldReport, load
    from .saved import ReportFileError
    from .testing import assert_sound
    from .watching import watch

__all__ = ["FoldReport", "ReportFileError", "__version__", "assert_sound", "compare", "load", "refresh", "watch"]

__version__ = "0.1.0"

_HOME = {
    "compare": "comparison", "FoldReport": "report", "load": "report", "ReportFileError": "saved",
    "refresh": "refreshing", "watch": "watching", "assert_sound": "testing",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Lazy: `import constviz` must load neither torch._dynamo nor IPython.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """What ``%load_ext constviz`` calls."""
    from .extension import load

    load(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """What ``%unload_ext constviz`` calls: everything is as it was before."""
    from .extension import unload

    unload(ipython)
