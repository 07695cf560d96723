"""The private PyTorch names: each is there, and each patch is undone."""

from __future__ import annotations

import importlib

import pytest
import torch
from packaging.version import Version

from constviz.capture import seam


def resolve(name: str):
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        for part in parts[split:]:
            value = getattr(value, part)
        return value
    raise AttributeError(name)


@pytest.mark.parametrize("name", seam.PRIVATE_NAMES)
def test_pytorch_still_has(name):
    try:
        resolve(name)
    except AttributeError:
        pytest.fail(f"torch {torch.__version__} has no {name}: constviz.capture.seam must follow")


def test_the_oldest_admitted_torch_is_met():
    assert Version(torch.__version__).release >= (2, 11)


def test_every_compiled_callable_gives_up_its_parts():
    def fn(x):
        return x + 1

    compiled = torch.compile(fn, backend="eager", dynamic=True)
    target, options = seam.compiled_parts(compiled)
    assert target is fn and (options.name, options.dynamic, options.fullgraph) == ("eager", True, False)
    assert seam.compiled_parts(fn) is None
    module = torch.nn.Linear(1, 1)
    assert seam.compiled_parts(torch.compile(module, backend="eager"))[0] is module
    module.compile(backend="eager")
    assert seam.compiled_parts(module)[0] is module


def test_patches_are_undone_exactly():
    from torch._dynamo import eval_frame

    original = eval_frame._callback_from_stance
    with pytest.raises(ZeroDivisionError), seam.watch_calls(lambda call: None):
        raise ZeroDivisionError
    assert eval_frame._callback_from_stance is original


def test_a_watch_sees_each_function_once_until_told_to_forget():
    fn = torch.compile(lambda x: x + 1, backend="eager")
    fn(torch.ones(1))
    seen = []
    with seam.watch_calls(lambda call: seen.append(call.args)) as watch:
        fn(torch.ones(1))
        fn(torch.ones(1))
        watch.forget()
        fn(torch.ones(1))
    assert len(seen) == 2
