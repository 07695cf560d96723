"""What the diagram of a report captures again, how that ends, and what it keeps alive."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from programs import mark

import constviz
from constviz import showing

X = torch.ones(2, 2)
STATE = {"k": 2.0}


@mark
def value():
    return STATE["k"]


@mark
def two():
    return 2.0


def program(x):
    return (x @ x) * value()


def what_if(report, names):
    """What the diagram shows after the marks were ticked so."""
    assert report.widget._session.answer({"kind": "fold", "names": names}) == {"done": True}
    return report.widget.comparison


def dtypes(comparison):
    return {node.dtype for node in comparison.variants["after"].graphs[0].nodes if node.target == "matmul"}


def test_what_if_runs_in_the_modes_of_the_report():
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        report = constviz.compare(program, args=(X,), backend="eager")
    again = what_if(report, ["value"])
    assert dtypes(again) == dtypes(report.comparison) == {"bfloat16"}
    assert again.variants["after"].needs_grad is False


@pytest.mark.parametrize(("probe", "verdict"), [(True, "sound"), (False, "conditional")])
def test_a_function_that_must_not_be_asked_again_is_not(probe, verdict):
    report = constviz.compare(lambda x: x * two(), args=(X,), backend="eager", probe=probe)
    (fold,) = what_if(report, ["two"]).variants["after"].folds
    assert fold.verdict == report.verdict == verdict
    assert ("probes were turned off" in fold.reason) is not probe


@pytest.mark.parametrize("error", [SystemExit("bye"), KeyboardInterrupt(), GeneratorExit()])
def test_no_error_of_a_capture_ends_the_loop_it_runs_in(error):
    def job():
        raise error

    showing._interruptible(job)


def test_an_error_that_cannot_be_told_ends_the_capture_all_the_same():
    class Silent(Exception):
        def __str__(self):
            raise ValueError

    report = constviz.compare(program, args=(X,), backend="eager")
    session = report.widget._session
    session._refold = lambda names, progress: (_ for _ in ()).throw(Silent())
    session.answer({"kind": "fold", "names": ["value"]})
    assert session.status["busy"] is False and "Silent" in session.status["error"]


def test_what_the_diagram_shows_has_a_report_of_its_own(tmp_path):
    report = constviz.compare(lambda x: program(x) * two(), args=(X,), backend="eager")
    assert report.shown is report and report.widget.data["what_if"] == ""
    before = repr(report)
    shown = what_if(report, ["two"])
    assert report.shown is not report
    assert report.shown.folds["function"].tolist() == ["two"]
    assert report.shown.current.variants == shown.variants
    assert (
        report.folds["function"].tolist()
        == ["value", "two"]
        == [f.function for f in report.current.variants["after"].folds]
    )
    assert repr(report) == f"{before}\n\nthe diagram shows another capture, without value: report.shown is its report"
    assert report.widget.data["what_if"] == "without value"
    assert "folded: without value" in report.widget.data["text"] and "folded: without value" in repr(report.shown)
    report.save(tmp_path / "page.html")  # of the report itself
    assert "shows another capture" not in (tmp_path / "page.html").read_text()
    report.widget._session._refold = lambda names, progress: (_ for _ in ()).throw(ValueError())
    report.widget._session.answer({"kind": "fold", "names": []})
    assert report.shown.folds["function"].tolist() == ["two"]  # a capture that failed is not shown


def test_a_widget_keeps_no_model_alive():
    model = torch.nn.Linear(2, 2)
    report = constviz.compare(model, args=(X,), backend="eager")
    widget, gone = report.widget, weakref.ref(report)
    del report, model
    gc.collect()
    assert gone() is None
    answer = widget._session.answer({"kind": "fold", "names": []})
    assert answer == {"done": True} and "no longer kept" in widget.status["error"]
