"""After compare, the program is as it was: inputs, state, random numbers, compiled code, Dynamo's own books."""

from __future__ import annotations

import itertools
import os
import random
import types

import numpy as np
import programs
import pytest
import torch
from programs import mark
from torch._dynamo.utils import counters

import constviz
from constviz.capture import copies
from constviz.capture.preserve import Snapshot, kept
from constviz.capture.seam import has_cache_entries


def compare(fn, *args, **kwargs):
    return constviz.compare(fn, args=args, **{"backend": "eager", **kwargs})


def counting_backend(log):
    def backend(gm, inputs):
        log.append([n.op for n in gm.graph.nodes].count("placeholder"))
        return gm.forward

    return backend


def test_compiled_entries_of_the_user_survive():
    compiles = []
    fn = torch.compile(programs.scaled, backend=counting_backend(compiles))
    fn(torch.ones(2))
    compare(fn, torch.ones(2), backend="eager")
    fn(torch.ones(2))
    assert len(compiles) == 1


def test_nothing_hangs_on_fresh_code():
    def fn(x):
        return x * programs.scale()

    compare(fn, torch.ones(2))
    assert not has_cache_entries(fn.__code__)


def test_frames_inside_are_taken_back_too():
    def callee(x):
        print("a graph break")
        return x * programs.scale()

    def fn(x):
        torch._dynamo.graph_break()
        return callee(x) + 1

    compare(fn, torch.ones(2))
    assert not has_cache_entries(callee.__code__)


def test_a_frame_skipped_by_a_capture_is_not_skipped_for_the_user():
    @mark
    def plus_one(x):
        return x + 1

    def fn(x):
        return 2 * plus_one(x)

    compare(fn, torch.tensor(3))
    plus_one._dynamo_marked_constant = False
    compiles = []
    torch.compile(fn, backend=counting_backend(compiles))(torch.tensor(3))
    assert compiles == [1]


def test_shapes_seen_in_a_capture_do_not_make_the_program_dynamic():
    def fn(x):
        return x * programs.scale()

    compare(fn, torch.ones(5))
    compiles = []
    torch.compile(fn, backend=counting_backend(compiles))(torch.ones(7))
    assert compiles == [1]  # a dynamic graph would take the size as a second input


def test_counters_and_module_globals_are_as_they_were():
    counts = {k: dict(v) for k, v in counters.items()}
    names = set(vars(programs)), set(globals())
    compare(programs.broken, torch.ones(2))
    assert {k: dict(v) for k, v in counters.items()} == counts
    assert (set(vars(programs)), set(globals())) == names


def test_inputs_written_in_place_are_untouched():
    def fn(x, y, *, z):
        x.add_(programs.scale())
        y["inner"].zero_()
        z.resize_(0) if z.numel() > 100 else z.mul_(2)
        return x

    x, y, z = torch.ones(2), {"inner": torch.ones(2)}, torch.ones(3)
    report = constviz.compare(fn, args=(x, y), kwargs={"z": z}, backend="eager")
    assert report.variants["after"].output.tolist() == [4.0, 4.0]
    assert x.tolist() == [1, 1] and y["inner"].tolist() == [1, 1] and z.tolist() == [1, 1, 1]
    assert x._version == 0


def test_module_state_and_gradients_are_untouched():
    layer = programs.Layer()
    layer(torch.randn(4, 3)).sum().backward()
    state = {k: v.clone() for k, v in layer.state_dict().items()}
    grads = [p.grad.clone() for p in layer.parameters()]
    held = [p.grad for p in layer.parameters()]

    def step(x):
        layer.train()
        out = layer(x).sum()
        out.backward()
        layer.extra = 1
        return out

    layer.eval()
    compare(step, torch.randn(4, 3))
    assert all(torch.equal(v, state[k]) for k, v in layer.state_dict().items())
    assert all(p.grad is h and torch.equal(h, g) for p, h, g in zip(layer.parameters(), held, grads, strict=True))
    assert not layer.training and not hasattr(layer, "extra")


def test_random_numbers_continue_as_without_us():
    def fn(x):
        return x * random.random() * float(np.random.rand()) + torch.rand(2)

    def draw():
        return random.random(), float(np.random.rand()), torch.rand(1).item()

    def seeded():
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)

    seeded()
    expected = draw()
    seeded()
    compare(fn, torch.ones(2))
    assert draw() == expected


COUNT = {"calls": 0}
ids = itertools.count()
total = 0


class Settings:
    depth = 1


def test_python_state_that_the_function_reaches_is_put_back():
    box, seen = types.SimpleNamespace(n=1), []

    @mark
    def reads():
        global total
        COUNT["calls"] += 1
        total += 1
        Settings.depth += 1
        os.environ["CONSTVIZ_TEST"] = "1"
        seen.append(next(ids))
        box.n += 1
        return box.n

    compare(lambda x: x * reads(), torch.ones(1))
    assert (COUNT, total, Settings.depth, seen, box.n, next(ids)) == ({"calls": 0}, 0, 1, [], 1, 0)
    assert "CONSTVIZ_TEST" not in os.environ


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_state_is_put_back_after_a_failure(error):
    box = {"n": 0}
    original = torch._dynamo.variables.functions.invoke_and_store_as_constant

    @mark
    def fails():
        box["n"] += 1
        if torch.compiler.is_dynamo_compiling() or box["n"] > 0 and error is KeyboardInterrupt:
            raise error("stop")
        return 1

    x = torch.ones(1)
    with pytest.raises(error) if error is KeyboardInterrupt else pytest.MonkeyPatch.context():
        compare(lambda t: t.add_(1) * fails(), x)
    assert box == {"n": 0} and x.tolist() == [1.0]
    assert torch._dynamo.variables.functions.invoke_and_store_as_constant is original


def test_marks_are_never_touched():
    before = programs.scale.__dict__.copy()
    compare(programs.scaled, torch.ones(1), fold=[])
    assert programs.scale.__dict__ == before


def test_an_input_too_large_to_copy_is_named(monkeypatch):
    monkeypatch.setattr(copies.os, "sysconf", lambda name: 1)
    with pytest.raises(copies.InputTooLargeError, match=r"input args\[1\]"):
        compare(lambda x, y: x, 1, torch.ones(10))


def test_copies_keep_views_strides_and_doubles():
    base = torch.arange(6.0)
    view, turned = base[2:], base.view(2, 3).t()
    (a, b, c, d), _ = copies.copy_inputs((base, view, turned, view), {})
    a[2] = 50
    assert b[0] == 50 and b is d and c.stride() == turned.stride() and base[2] == 2
    assert b.storage_offset() == 2


def test_an_input_that_is_the_programs_own_state_is_not_cut_off():
    weight = torch.nn.Parameter(torch.ones(2))
    (same,), _ = copies.copy_inputs((weight,), {}, shared=[weight])
    assert same is weight


def test_dynamic_marks_on_inputs_are_kept():
    x = torch.ones(4, 2)
    torch._dynamo.mark_dynamic(x, 0)
    graph = compare(lambda t: t * programs.scale(), x).variants["after"].graphs[0]
    (placeholder,) = [n for n in graph.nodes if n.role.value == "input" and n.dtype]
    assert isinstance(placeholder.shape[0], str) and placeholder.shape[1] == 2


def test_snapshots_can_be_restored_twice():
    box = {"list": [1], "tensor": torch.zeros(2), "nan": torch.tensor([float("nan")])}
    snapshot = Snapshot(box)
    for _ in range(2):
        box["list"].append(2)
        box["tensor"].add_(1)
        box["new"] = 1
        snapshot.restore()
        assert box["list"] == [1] and box["tensor"].tolist() == [0, 0] and "new" not in box


def test_kept_objects_stay_the_same_objects():
    inner = [1]
    box = {"a": inner}
    with kept(box):
        box["a"] = [2]
    assert box["a"] is inner


def test_a_lazy_module_stays_lazy():
    lazy = torch.nn.LazyLinear(3)
    compare(lazy, torch.ones(2, 2))
    assert type(lazy) is torch.nn.LazyLinear and lazy.has_uninitialized_params()
    assert lazy(torch.ones(2, 2)).shape == (2, 3)


def test_ordered_dictionaries_keep_their_order():
    import collections

    box = collections.OrderedDict(a=1, b=2)
    with kept(box):
        del box["a"]
        box["c"] = 3
    assert list(box.items()) == [("a", 1), ("b", 2)] and list(reversed(box)) == ["b", "a"]


def test_what_the_program_prints_is_its_own(capfd):
    def fn(x):
        print("hello")
        return x * programs.scale()

    compare(fn, torch.ones(2))
    assert capfd.readouterr().out == ""


def test_requires_grad_is_put_back():
    layer = torch.nn.Linear(3, 3)

    def freezes(x):
        y = layer(x)
        layer.requires_grad_(False)
        return y * programs.scale()

    report = compare(freezes, torch.ones(3))
    assert layer.weight.requires_grad and str(report.verdict) == "conditional"


def test_inputs_may_hold_themselves():
    loop = {}
    loop["me"] = loop
    ring = [1]
    ring.append(ring)
    (copied, copied_ring), _ = copies.copy_inputs((loop, ring), {})
    assert copied["me"] is copied and copied is not loop and copied_ring[1] is copied_ring


def test_an_inner_function_compiled_with_fullgraph_can_be_run_eagerly():
    inner = torch.compile(lambda y: y * programs.scale(), backend="eager", fullgraph=True)
    assert compare(lambda x: inner(x) + 1, torch.ones(2)).variants["eager"].output.tolist() == [4.0, 4.0]
