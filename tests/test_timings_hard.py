"""Programs that make timing hard: what stands in their rows, and that they are as they were."""

from __future__ import annotations

import gc
import time
import weakref

import pandas as pd
import pytest
import torch
from races import f, report_of, table, timed

STEPS = {"n": 0}


def test_one_that_raises_has_a_row_that_says_so():
    def broken(x):
        raise ValueError("no such luck")

    found = timed(f, against=broken)
    assert found.loc["broken", "result"] == "failed"
    assert found.loc["broken", "note"] == "ValueError: no such luck"
    assert found.loc["after", "speedup"] > 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (lambda x: x.mul_(1.0).add_(1.0), "writes into its inputs"),
        (lambda x: x * float("nan"), "gives NaN"),
        (lambda x: None, "returns nothing"),
        (lambda x: x + time.perf_counter_ns() % 1000, "not deterministic"),
        (lambda x: x * torch.rand(8, 64), None),
    ],
    ids=["in place", "nan", "nothing", "clock", "random"],
)
def test_what_a_reader_should_know_is_in_the_note(body, says):
    x, state = torch.ones(8, 64), torch.get_rng_state()
    found = timed(body, x)
    note = found.loc["eager", "note"]
    assert says in note if says else note == ""
    assert found.loc["eager", "median_us"] > 0
    assert torch.equal(x, torch.ones(8, 64)) and torch.equal(state, torch.get_rng_state())


def in_place(x):
    x.mul_(0.5)
    return x.sum()


def test_a_call_that_writes_finds_what_the_first_one_found():
    x = torch.full((8, 64), 2.0)
    found = timed(in_place, x, against={"twin": in_place, "lazy": lambda x: (x * 0.5).sum()})
    assert found.loc["twin", "result"] == "no difference" and "put back before each call" in found.loc["twin", "note"]
    assert found.loc["lazy", "result"] == "not equal" and "into its inputs" in found.loc["lazy", "note"]
    assert torch.equal(x, torch.full((8, 64), 2.0))


def test_state_that_is_used_up_is_put_back_too():
    class Cache:
        def __init__(self):
            self.rows, self.n = torch.zeros(4, 64), 0

        def __call__(self, x):
            self.rows[self.n] = x[0]
            self.n += 1  # a fifth call would raise IndexError
            return self.rows.sum()

    cache = Cache()
    found = timed(lambda x: cache(x))
    assert set(found["result"]) <= {"faster", "slower", "no difference"} and cache.n == 0


def test_state_that_an_alternative_leaves_alone():
    norm = torch.nn.BatchNorm1d(64)
    still = {"still": lambda x: torch.nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, True)}
    found = timed(lambda x: norm(x), torch.rand(8, 64), against=still)
    assert "does not change the state" in found.loc["still", "note"] and pd.isna(found.loc["still", "speedup"])


def test_gradients_are_compared():
    layer = torch.nn.Linear(64, 64)

    def halved(x):
        out = layer(x).sin().sum()
        return out.detach() + 0.5 * (out - out.detach())

    found = timed(lambda x: layer(x).sin().sum(), against={"halved": halved}, backward=True)
    assert found.loc["halved", "result"] == "not equal" and "other gradients" in found.loc["halved", "note"]


def test_an_exit_is_a_row_and_no_exit():
    def leaves(x):
        raise SystemExit(3)

    assert timed(f, against=leaves).loc["leaves", "note"].startswith("SystemExit: 3")


def test_what_a_thousand_calls_print_is_kept_nowhere(capsys):
    def prints(x):
        print("y" * 1_000_000)
        return x + 1

    import resource

    known = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    timed(prints, budget_s=0.3)
    # hundreds of calls, a megabyte each
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - known < 100_000
    assert "y" not in capsys.readouterr().out


def test_two_threads_measure_one_after_the_other():
    import sys
    import threading

    report, out, done = report_of(f), sys.stdout, []
    threads = [threading.Thread(target=lambda: done.append(report.timings(budget_s=0.1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stdout is out and [t.loc["after", "result"] for t in done] == ["faster", "faster"]


@pytest.mark.parametrize("x", [torch.ones(3, device="meta"), torch.eye(4).to_sparse()], ids=["meta", "sparse"])
def test_tensors_of_other_kinds(x):
    found = timed(lambda x: x * 2, x)
    assert found["note"].tolist() == [""] * 3 and found["median_us"].notna().all()


def test_a_frame_that_was_changed_looks_as_it_is():
    found = timed(f)
    found["mine"] = 1
    assert "mine" in repr(found) and "mine" in found._repr_html_()
    assert repr(type(found)({"a": [1]})).split() == ["a", "0", "1"]
    assert found.parts.index.tolist() == ["eager", "before", "after"]


def test_a_module_in_training_is_as_it_was():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Dropout(0.5))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    found = timed(model)
    assert "changes state" in found.loc["before", "note"]
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_forward_and_backward():
    layer = torch.nn.Linear(64, 64)

    def loss(x):
        return (layer(x) * table()).sum()

    report = report_of(loss, backend="aot_eager")
    forward, both = report.timings(budget_s=0.2), report.timings(budget_s=0.2, backward=True)
    assert both.loc["eager", "median_us"] > 1.3 * forward.loc["eager", "median_us"]
    assert "forward only" in forward.loc["eager", "note"] and both.loc["eager", "note"] == ""
    assert layer.weight.grad is None
    nothing = timed(f, backward=True)
    assert set(nothing["result"]) == {"failed"} and "requires a gradient" in nothing.loc["eager", "note"]


@pytest.mark.filterwarnings("error")
def test_an_input_that_is_no_leaf():
    x = torch.ones(8, 64, requires_grad=True) * 2
    found = timed(lambda x: x * table(), x, backward=True)
    assert found.loc["after", "median_us"] > 0 and x.requires_grad


def test_a_slow_function_is_timed_once():
    def slow(x):
        time.sleep(0.3)
        return x * 2

    begin = time.perf_counter()
    found = timed(torch.compiler.disable(slow), budget_s=0.1)
    assert time.perf_counter() - begin < 5  # a check and a round for each of three, 0.3 s each
    assert found.loc["after", "median_us"] == pytest.approx(300_000, rel=0.2)
    assert found.loc["after", "result"] == "no difference" and "timed once" in found.loc["after", "note"]


def test_an_interrupt_gives_what_there_is():
    class Tired:
        calls = 0

        def __call__(self, x):
            Tired.calls += 1
            if Tired.calls > 2000:
                raise KeyboardInterrupt
            return f(x)

    found = timed(f, against={"tired": Tired()}, budget_s=5.0)
    assert found.record.runs[""].stopped == "interrupted"
    assert found.loc["after", "median_us"] > 0 and "interrupted" in found.loc["after", "note"]


def test_a_program_that_is_compiled_again_and_again():
    def counts(x):
        STEPS["n"] += 1
        return x + STEPS["n"]

    found = timed(counts, budget_s=0.2)
    assert "compiled" in found.loc["before", "note"] or found.loc["before", "result"] == "failed"
    assert STEPS == {"n": 0}


def test_neither_a_report_nor_its_timings_keep_a_model_alive():
    def measured():
        layer = torch.nn.Linear(64, 64)  # its code is torch's, and stays compiled
        report_of(layer, torch.ones(2, 64)).timings(budget_s=0.05)
        return weakref.ref(layer)

    gone = [measured() for _ in range(2)]
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
