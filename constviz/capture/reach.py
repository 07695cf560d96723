"""How far a snapshot reaches: the names that code uses, and what belongs to libraries and is left alone."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from typing import Any

__all__ = ["file_of", "is_library", "is_library_class", "is_library_function", "is_opaque", "names_in", "slots_of"]

_LIBRARY_ROOTS = tuple(
    os.path.realpath(path) for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib", "platlib")
)
_OPAQUE_ROOTS = (sys.stdlib_module_names - {"argparse", "builtins", "collections", "dataclasses", "types"}) | {
    "IPython", "comm", "ipykernel", "ipywidgets", "jupyter_client", "matplotlib", "pandas", "tornado", "traitlets",
    "zmq",
}  # fmt: skip
"""Whose objects are left alone: other threads work on them, and no traced program computes with them."""


def slots_of(cls: type) -> tuple[str, ...]:
    """The slots of a class of the user's own."""
    module = sys.modules.get(cls.__module__)
    if is_library(file_of(module)) or cls.__module__ == "builtins":
        return ()
    slots = cls.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in slots if name not in ("__dict__", "__weakref__"))


def names_in(code: types.CodeType) -> set[str]:
    """The global and attribute names in a code object and those inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names


def file_of(module: Any) -> str | None:
    """The file of a module, without asking a ``__getattr__`` of its own."""
    file = vars(module).get("__file__") if isinstance(module, types.ModuleType) else None
    return file if isinstance(file, str) else None


@functools.cache
def is_library(file: str | None) -> bool:
    """Whether a source file belongs to the standard library or an installed package."""
    if not file or file.startswith("<"):
        return False
    return os.path.realpath(file).startswith(_LIBRARY_ROOTS)


def is_library_function(function: types.FunctionType) -> bool:
    """Whether a function belongs to the standard library or an installed package."""
    root = (function.__module__ or "").split(".")[0]  # some modules are frozen, and have no file
    return is_library(function.__code__.co_filename) or root in sys.stdlib_module_names


def is_library_class(cls: type) -> bool:
    """Whether a class belongs to the standard library or an installed package."""
    root = str(cls.__module__).split(".")[0]
    return root in sys.stdlib_module_names or is_library(file_of(sys.modules.get(cls.__module__)))


def is_opaque(cls: type) -> bool:
    """Whether objects of the class are left alone."""
    module = cls.__module__ or ""
    return module.split(".")[0] in _OPAQUE_ROOTS or module.startswith("torch._")
