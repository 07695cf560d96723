"""report.timings(): the table, what stands in it when something is wrong, and that the program is as it was."""

from __future__ import annotations

import functools
import re

import pandas as pd
import pytest
import torch
from races import X, f, other, report_of, table, timed, unmarked

import constviz
from constviz.display.timings import COLUMNS

pytest_plugins = ["shell.loaded"]


@pytest.fixture(scope="module")
def found():
    return timed(f, against=[unmarked, other], budget_s=0.5)


# -- the table ----------------------------------------------------------------------------------------------------


def test_it_is_an_ordinary_numeric_frame(found):
    assert isinstance(found, pd.DataFrame) and tuple(found.columns) == COLUMNS
    assert found.index.name == "variant" and found.index.tolist() == ["eager", "before", "after", "unmarked", "other"]
    numbers = found.drop(columns=["device", "result", "note"])
    assert all(pd.api.types.is_numeric_dtype(kind) for kind in numbers.dtypes)
    assert type(found[["speedup"]]) is pd.DataFrame
    assert found["device"].str.startswith("cpu").all()


def test_eight_operations_less_are_faster(found):
    row = found.loc["after"]
    assert row["result"] == "faster" and 1.01 < row["speedup_low"] <= row["speedup"] <= row["speedup_high"]
    assert row["low_us"] <= row["median_us"] <= row["high_us"]
    assert found.loc["before", "speedup"] == 1.0


def test_what_differs_from_eager_has_no_speedup(found):
    row = found.loc["other"]
    assert row["result"] == "not equal" and pd.isna(row["speedup"])
    # by hand: relu(1) * 7 and relu(1) * the table, which is nowhere below 0
    assert re.search(r"not what eager gives: differs by up to \d", row["note"])


def test_its_text_has_no_numbers_that_change(found):
    lines = repr(found).splitlines()
    assert lines[0] == "timings of f on cpu, against before; .to_string() has the numbers"
    assert lines[3].split() == ["after", "faster"]
    assert not re.search(r"\d+\.\d", "\n".join(lines[:5]))
    assert f"{found.loc['after', 'speedup']:.6f}" in found.to_string()


def test_its_html_is_stable_and_names_are_text():
    first = timed(f, against={"<b>bold</b>": unmarked})._repr_html_()
    assert "&lt;b&gt;bold" in first and "<b>bold" not in first
    ids = re.findall(r'id="([^"]+)"', first)
    assert ids and all(name.startswith("T_constviz-timings") for name in ids)


def test_samples_are_kept(found):
    samples = found.samples
    assert samples.index.names == ["size", "round"]
    assert len(samples) == found.rounds[""] == len(samples["after"].dropna())
    ratio = (samples["before"] / samples["after"]).median()
    assert ratio == pytest.approx(found.loc["after", "speedup"])
    assert found.record.runs[""].seed == 0 and found.record.threads == torch.get_num_threads()


def test_where_the_time_goes(found):
    parts = found.parts
    assert parts.columns.tolist() == ["guards_us", "guards_low_us", "guards_high_us", "graphs_us", "python_us"]
    assert parts.loc["eager"].isna().all()
    assert parts.loc["before", "graphs_us"] > parts.loc["after", "graphs_us"] > 0
    compiled = parts.loc[["before", "after"]]
    assert (compiled["guards_low_us"] <= compiled["guards_us"]).all() and (compiled["python_us"] >= 0).all()


def test_saved_and_loaded(tmp_path):
    report = report_of(f)
    taken = report.timings(budget_s=0.1)
    report.save(tmp_path / "r.json")
    loaded = constviz.load(tmp_path / "r.json").timings()
    pd.testing.assert_frame_equal(pd.DataFrame(loaded), pd.DataFrame(taken))
    with pytest.raises(RuntimeError, match="no program to time"):
        constviz.load(tmp_path / "r.json").timings(against=unmarked)
    report_of(f).save(tmp_path / "none.json")
    with pytest.raises(RuntimeError, match="no program to time"):
        constviz.load(tmp_path / "none.json").timings()


# -- alternatives and sizes -----------------------------------------------------------------------------------------


def test_alternatives_in_all_their_forms():
    compiled = torch.compile(unmarked, backend="aot_eager")
    takes_more = (lambda x, t: torch.relu(x) * t, (X, table()))
    with pytest.warns(DeprecationWarning, match="torch.jit.trace"):
        traced = torch.jit.trace(unmarked, X)
    found = timed(f, against={"compiled": compiled, "passed in": takes_more, "traced": traced, "before": unmarked})
    assert found.index.tolist()[3:] == ["compiled", "passed in", "traced", "before 2"]
    assert not set(found["result"]) & {"failed", "not equal"}
    assert "not compiled" in found.loc["traced", "note"]
    assert pd.isna(found.loc["traced", "compile_s"]) and found.loc["compiled", "compile_s"] > 0
    with pytest.raises(TypeError, match="against takes functions"):
        timed(f, against={"a": (unmarked, X)})
    with pytest.raises(TypeError, match="against takes functions"):
        timed(f, against=["unmarked"])


def test_a_partial_is_compiled_as_its_function_is():
    found = timed(f, against=functools.partial(lambda x, t: torch.relu(x) * t, t=table()))
    assert found.index[-1] == "lambda" and found.loc["lambda", "compile_s"] > 0
    assert found.loc["lambda", "result"] not in ("failed", "not equal")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget_s": -1.0}, "budget_s must be finite and at least 0"),
        ({"budget_s": float("nan")}, "budget_s must be finite"),
        ({"precision": "fine"}, "precision must be a number, not str"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 1.5}, "seed must be a number, not float"),
    ],
)
def test_options_that_are_none(options, says):
    with pytest.raises((TypeError, ValueError), match=says):
        report_of(f).timings(**options)


def test_a_user_s_compiled_code_is_not_touched():
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = torch.compile(unmarked, backend=backend)
    compiled(X)
    timed(f, against=compiled)
    assert len(graphs) == 2  # the user's, and one of ours
    compiled(X)
    assert len(graphs) == 2


def test_a_sweep_has_a_block_of_rows_for_each_size():
    found = timed(f, sizes=[2, (torch.ones(3, 64),)], budget_s=0.05)
    assert found.index.names == ["size", "variant"]
    assert found.index.get_level_values("size").unique().tolist() == ["n=2", "3×64"]
    assert found.loc[("n=2", "after"), "median_us"] > 0
    assert [line for line in repr(found).splitlines() if "×" in line or "n=" in line] == ["  n=2", "  3×64"]
    axes = found.plot_speedup()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["n=2", "3×64"]


@pytest.mark.parametrize(("sizes", "says"), [(["a"], "lengths"), ([0], "at least 1"), (5, "lengths"), ([], "empty")])
def test_sizes_that_are_none(sizes, says):
    with pytest.raises((TypeError, ValueError), match=says):
        timed(f, sizes=sizes)


# -- Inductor, and an accelerator -----------------------------------------------------------------------------------


def test_kernels_as_inductor_counts_them():
    def two_kernels(x):
        return (x + 1).sum(), (x * table()).cumsum(0)

    found = report_of(two_kernels, backend="inductor").timings(budget_s=0.2)
    assert found.loc["after", "kernels"] >= 1 and found.loc["before", "kernels"] >= found.loc["after", "kernels"]
    assert pd.isna(found.loc["eager", "kernels"])


# -- where else it is seen -------------------------------------------------------------------------------------


def test_a_tab_of_the_diagram_and_of_a_saved_page(tmp_path):
    report = report_of(f)
    names = [table["name"] for table in report.widget.data["tables"]]
    found = report.timings(budget_s=0.05)
    tables = report.widget.data["tables"]
    assert [table["name"] for table in tables] == [*names, "timings"]
    assert [row["cells"][0] for row in tables[-1]["rows"]] == found.index.tolist()
    report.save(tmp_path / "r.html")
    assert '"timings"' in (tmp_path / "r.html").read_text()


# -- the magic ------------------------------------------------------------------------------------------------------


def test_a_table_under_the_cell(shell, monkeypatch):
    monkeypatch.setenv("CONSTVIZ_BUDGET_S", "0.1")
    shell.run("def plain(x): return torch.relu(x) * 3.0 + 1.0")
    ran = shell.run("%%constfold --against plain,nowhere --name r\nf(x);")
    assert "there is no function nowhere" in ran.stdout
    assert re.search(r"^before .* baseline", ran.stdout, re.M) and re.search(r"^plain ", ran.stdout, re.M)
    assert shell.ip.user_ns["r"].comparison.timings[2].variant == "after"
    quiet = shell.run("%%constfold --no-time\nf(x);")
    assert "baseline" not in quiet.stdout
    assert "not timed" in shell.run("%%constfold --no-probe\nf(x);").stdout
