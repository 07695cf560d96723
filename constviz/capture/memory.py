"""Tensors larger than their memory, and nested ones: copied and compared by what they really hold."""

from __future__ import annotations

from collections.abc import Iterator

import torch

__all__ = ["NotComparableError", "copied", "like", "memory", "pairs", "repeats"]

_LARGE = 1 << 24
"""Elements beyond which two tensors are not compared if that takes more room than they do."""


class NotComparableError(Exception):
    """Two tensors that cannot be compared, and why."""


def repeats(tensor: torch.Tensor) -> bool:
    """Whether a tensor has more elements than its memory, as ``torch.zeros(1).expand(10**12)`` does."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.is_nested or tensor.is_quantized:
        return False
    if tensor.layout is not torch.strided or tensor.device.type == "meta":
        return False
    try:
        return 0 < tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size()
    except (RuntimeError, NotImplementedError):  # wrapped by functorch, symbolic
        return False


def memory(tensor: torch.Tensor) -> torch.Tensor:
    """All of the memory behind a tensor, as one row."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.detach().as_strided((size,), (1,), 0)


def like(tensor: torch.Tensor, content: torch.Tensor) -> torch.Tensor:
    """Such memory, seen as ``tensor`` sees its own."""
    return content.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy without autograd history, which takes no more room than the tensor does."""
    return like(tensor, memory(tensor).clone()) if repeats(tensor) else tensor.detach().clone()


def pairs(one: torch.Tensor, other: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Plain tensors to compare in place of two: the parts of nested ones, and repeated elements once.

    Raises:
        NotComparableError: to compare them would take far more room than they do.
    """
    one, other = one.detach(), other.detach()
    if one.is_nested and other.is_nested and one.dtype == other.dtype and one.size(0) == other.size(0):
        yield from zip(one.unbind(), other.unbind(), strict=True)
        return
    if (repeats(one) or repeats(other)) and one.shape == other.shape:
        for dim, (step, same) in enumerate(zip(one.stride(), other.stride(), strict=True)):
            if step == same == 0 and one.shape[dim]:
                one, other = one.narrow(dim, 0, 1), other.narrow(dim, 0, 1)
        if one.numel() > _LARGE and (repeats(one) or repeats(other)):
            raise NotComparableError(f"{one.numel():,} elements are far more than their memory holds")
    yield one, other
