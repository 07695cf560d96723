"""Audits of real programs, and assert_sound: what goes stale is shown with both values, and nothing is left behind."""

from __future__ import annotations

import programs
import pytest
import torch
from programs import mark

import constviz


def report_of(fn, *args, **options):
    return constviz.compare(fn, args=args, **{"backend": "eager", **options})


def test_a_change_of_state_is_seen_by_before_and_missed_by_after():
    report = report_of(programs.scaled, torch.ones(2))
    table = report.audit(change=lambda: programs.CFG.update(scale=5.0), repeats=2)
    assert list(table.columns) == ["call", "variant", "equal", "max_abs_error", "note"]
    assert table[["variant", "equal"]].values.tolist() == [
        ["before", True], ["before", True], ["after", True], ["after", False],
    ]  # fmt: skip
    last = table.iloc[-1]
    assert last["max_abs_error"] == 2.0
    assert last["note"] == "expected [5, 5] (float32[2]), got [3, 3] (float32[2])"
    assert programs.CFG["scale"] == 3.0


def test_other_values_show_a_tensor_that_was_burned_in():
    @mark
    def total(x):
        return float(x.sum())

    table = report_of(lambda x: x * total(x), torch.ones(2)).audit(repeats=1)
    assert table.loc[table["variant"] == "after", "equal"].tolist() == [True, False]
    # 1 becomes 2 * 1 + 1 = 3: eager 3 * 6, compiled 3 * 2
    assert table.iloc[-1]["note"] == "expected [18, 18] (float32[2]), got [6, 6] (float32[2])"


def test_further_calls_and_only_the_first_counter_example_in_full():
    @mark
    def size(x):
        return x.shape[0]

    report = report_of(lambda x: x * size(x), torch.ones(2), dynamic=True)
    table = report.audit(calls=[(torch.ones(3),), (torch.ones(4),)], repeats=1)
    after = table[table["variant"] == "after"]
    assert after["call"].tolist() == ["first call", "calls[0]", "calls[1]"]
    assert after["equal"].tolist() == [True, False, False]
    assert [bool(note) for note in after["note"]] == [False, True, False]


def test_a_variant_that_raises_is_a_row():
    table = report_of(programs.two_tables, torch.ones(3), backend="aot_eager").audit(repeats=1)
    (bad,) = table[(table["variant"] == "after") & (table["call"] == "first call")].itertuples()
    assert not bad.equal and "raised" in bad.note


def test_the_program_is_left_as_it_was():
    layer = programs.Layer()
    state = {k: v.clone() for k, v in layer.state_dict().items()}
    compiles = []

    def backend(gm, inputs):
        compiles.append(gm)
        return gm.forward

    fn = torch.compile(layer, backend=backend)
    fn(torch.ones(2, 3))
    layer.load_state_dict(state)
    report = constviz.compare(fn, args=(torch.ones(2, 3),))
    report.audit(change=lambda: setattr(layer, "factor", 9.0))
    assert layer.factor == 2.0 and all(torch.equal(v, state[k]) for k, v in layer.state_dict().items())
    before = len(compiles)
    fn(torch.ones(2, 3))
    assert len(compiles) == before


def test_what_is_no_number_is_equal_to_itself():
    table = report_of(programs.scaled, torch.tensor([float("nan"), float("inf")])).audit(repeats=1)
    assert table["equal"].all() and table["max_abs_error"].tolist()[0] == 0.0


def test_calls_are_tuples_of_arguments():
    with pytest.raises(TypeError, match=r"write calls=\[\(x,\)\]"):
        report_of(programs.scaled, torch.ones(2)).audit(calls=[torch.ones(2)])


def test_two_instances_share_compiled_code_and_are_told_apart_by_further_calls():
    class Gain:
        def __init__(self, gain):
            self.gain = gain

        @mark
        def read(self):
            return self.gain

    table = report_of(lambda x, owner: x * owner.read(), torch.ones(1), Gain(2.0)).audit(
        calls=[(torch.ones(1), Gain(2.0)), (torch.ones(1), Gain(10.0))], repeats=1
    )
    after = table[table["variant"] == "after"]
    assert after["equal"].tolist() == [True, True, False]
    assert after["note"].tolist()[-1] == "expected [10] (float32[1]), got [2] (float32[1])"
    assert table.loc[table["variant"] == "before", "equal"].all()


def test_a_change_that_raises_is_the_users_own_error_and_is_undone():
    def change():
        programs.CFG["scale"] = 9.0
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        report_of(programs.scaled, torch.ones(2)).audit(change=change)
    assert programs.CFG["scale"] == 3.0


def test_a_loaded_report_cannot_be_audited(tmp_path):
    report_of(programs.scaled, torch.ones(2)).save(tmp_path / "r.json")
    with pytest.raises(RuntimeError, match="no program to call"):
        constviz.load(tmp_path / "r.json").audit()


def test_assert_sound_passes_fails_and_can_be_told_what_to_admit():
    @mark
    def four():
        return 4

    assert constviz.assert_sound(lambda x: x * four(), (torch.ones(2),), backend="eager").verdict.value == "sound"
    with pytest.raises(AssertionError, match=r"conditional, where only.*\n\nconstviz: scaled"):
        constviz.assert_sound(programs.scaled, (torch.ones(2),), backend="eager")
    constviz.assert_sound(programs.scaled, (torch.ones(2),), backend="eager", allow=("sound", "conditional"))
    with pytest.raises(AssertionError, match="not_folded"):
        constviz.assert_sound(lambda x: x + 1, (torch.ones(2),), backend="eager", allow="sound")
