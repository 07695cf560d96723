"""Whether two results are the same to a program that uses them: values, types, shapes, identity of what has one."""

from __future__ import annotations

import enum
import types
from typing import Any

import torch

from .describe import describe, tensors_in
from .memory import NotComparableError, pairs

__all__ = ["difference", "not_compared"]

_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


def difference(expected: Any, actual: Any, *, exact: bool = False, depth: int = 0) -> str | None:
    """The first difference as text, ``expected`` first; None if there is none.

    Tensors are compared with the tolerances of :func:`torch.testing.assert_close` unless ``exact``, and their dtype,
    shape and class must agree.  Enums and functions must be the very same object.
    """
    if isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor):
        return _tensors(expected, actual, exact)
    if expected is actual:
        return None
    if isinstance(expected, (enum.Enum, *_CODE)) or isinstance(actual, (enum.Enum, *_CODE)):
        return None if same_function(expected, actual) else _said(expected, actual)
    if type(expected) is not type(actual):
        return _said(expected, actual)
    if depth < 6 and isinstance(expected, dict):
        if list(expected) != list(actual):
            return _said(expected, actual)
        pairs = [(expected[key], actual[key]) for key in expected]
    elif depth < 6 and isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return _said(expected, actual)
        pairs = list(zip(expected, actual, strict=True))
    else:
        return _plain(expected, actual)
    return next((d for a, b in pairs if (d := difference(a, b, exact=exact, depth=depth + 1))), None)


def _tensors(expected: torch.Tensor, actual: torch.Tensor, exact: bool) -> str | None:
    if type(expected) is not type(actual) and torch.nn.Parameter not in (type(expected), type(actual)):
        return f"{type(expected).__name__} became {type(actual).__name__}"
    tolerance: dict[str, float] = {"rtol": 0, "atol": 0} if exact else {}
    try:
        _assert_same(expected, actual, tolerance)
    except AssertionError:
        return _said(expected, actual)
    except Exception:  # what cannot be compared is not called different
        return None
    return None


def not_compared(expected: Any, actual: Any) -> str | None:
    """Why :func:`difference` says nothing of some tensors of two results; None if it looked into all."""
    for one, other in zip(tensors_in(expected), tensors_in(actual), strict=False):
        try:
            _assert_same(one, other, {})
        except AssertionError:
            continue
        except NotComparableError as error:
            return f"{describe(one).text}: {error}"
        except Exception:
            return f"{describe(one).text}: PyTorch cannot compare such tensors"
    return None


def _assert_same(expected: torch.Tensor, actual: torch.Tensor, tolerance: dict[str, Any]) -> None:
    if expected.device.type == actual.device.type == "meta":
        raise NotComparableError("tensors on the device meta hold nothing")
    for one, other in pairs(expected, actual):
        torch.testing.assert_close(other, one, equal_nan=True, **tolerance)


def same_function(one: Any, other: Any) -> bool:
    """Whether both are made by one ``def`` or ``lambda``, and with it see the same: a fresh one for each call."""
    if type(one) is not types.FunctionType or type(other) is not types.FunctionType:
        return False
    if one.__code__ is not other.__code__ or one.__globals__ is not other.__globals__:
        return False
    return difference(_seen_by(one), _seen_by(other), exact=True, depth=1) is None


def _seen_by(fn: types.FunctionType) -> list[Any]:
    try:
        cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # not yet filled
        cells = []
    return [fn.__defaults__, fn.__kwdefaults__, cells]


def _plain(expected: Any, actual: Any) -> str | None:
    if isinstance(expected, (float, complex)) and str(expected) == str(actual):  # NaN is itself
        return None
    if isinstance(expected, (set, frozenset)):
        same = sorted(map(_as_text, expected - actual)) == sorted(map(_as_text, actual - expected))
        return None if same else _said(expected, actual)
    if getattr(type(expected), "__eq__", None) is object.__eq__:  # fresh objects of one class: nothing to compare
        return None
    try:
        if type(expected).__name__ == "ndarray" and expected.dtype == actual.dtype and expected.shape == actual.shape:
            same = expected.tobytes() == actual.tobytes() or bool((expected == actual).all())
        else:
            same = bool(expected == actual)
    except Exception:  # arrays and others whose == gives no single answer
        return None if describe(expected).text == describe(actual).text else _said(expected, actual)
    return None if same else _said(expected, actual)


def _as_text(value: Any) -> str:
    return f"{type(value).__name__} {value!r}" if isinstance(value, (float, complex)) else f"{id(value)}"


def _said(expected: Any, actual: Any) -> str:
    return f"{describe(expected).text} became {describe(actual).text}"
