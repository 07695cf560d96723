"""What the page asks of the notebook, and tells when it is refused, busy or unanswered; what-if among it."""

from __future__ import annotations

import pytest

pytest_plugins = ["page.fixtures"]


def test_a_refusal_and_silence_are_told(shown_by_clock, small):
    (data, view), shown = small, shown_by_clock
    shown.open({**data, "details": None}, view, "{ reset: () => ({ error: '<b>no</b>' }) }")
    shown.find("button", has_text="reset").click()
    shown.page.wait_for_function("() => document.querySelector('.cv-note').textContent === '<b>no</b>'")
    shown.find("[data-side=after] .cv-output").click()
    shown.page.clock.run_for(3900)
    assert "no kernel" not in shown.find(".cv-details").inner_text()
    shown.page.clock.run_for(200)
    assert "no kernel" in shown.find(".cv-details").inner_text()
    shown("model.set('status', { busy: true, text: 'capturing', error: '' })")
    shown.find(".cv-cancel").click()
    shown.page.clock.run_for(9000)
    assert "no kernel" not in shown.note()  # it is busy, so it lives
    shown("model.set('status', { busy: false, text: '', error: '' })")
    shown.page.clock.run_for(4100)
    assert "no kernel" in shown.note()


def test_what_if_asks_tells_and_can_be_cancelled(shown, small):
    data, view = small
    marks = [{"name": name, "place": "cell:1", "selected": True} for name in ("f", "g", "h")]
    shown.open({**data, "marks": marks}, view, "{ fold: () => ({ done: true }), cancel: () => ({ done: true }) }")
    option = shown.find(".cv-option")
    assert option.inner_text() == "all marks"
    shown.find(".cv-marks label", has_text="g").locator("input").uncheck()
    assert shown.sent("fold") == [{"kind": "fold", "names": ["f", "h"]}]
    assert option.inner_text() == "--fold f,h"
    assert not shown.find(".cv-cancel").is_visible()
    shown("model.set('status', { busy: true, text: 'capturing: before', error: '' })")
    assert shown.note() == "capturing: before"
    assert shown.find(".cv-marks input").first.is_disabled()
    shown.find(".cv-cancel").click()
    assert shown.sent("cancel") == [{"kind": "cancel"}]
    shown("model.set('status', { busy: false, text: 'cancelled', error: '' })")
    assert shown.note() == "cancelled" and option.inner_text() == "all marks"
    assert shown.find(".cv-marks input:checked").count() == 3 and shown.find(".cv-marks input").first.is_enabled()
    shown("model.set('status', { busy: false, text: '', error: 'it <broke>' })")
    assert shown.note() == "it <broke>"


def test_a_diagram_that_is_not_the_report_s_says_so_as_long_as_it_stands(shown, small):
    data, view = small
    marks = [{"name": name, "place": "cell:1", "selected": True} for name in ("f", "g")]
    shown.open({**data, "marks": marks}, view, "{ fold: () => ({ done: true }) }")
    assert not shown.find(".cv-other").is_visible()
    shown("model.set('data', { ...model.get('data'), what_if: 'without g' })")
    shown("model.set('status', { busy: false, text: '', error: '' })")
    other = shown.find(".cv-other")
    assert other.is_visible() and "report.shown" in other.inner_text() and other.get_attribute("title") == "without g"


@pytest.mark.parametrize("width", [600, 1200])
def test_many_marks_with_long_names_leave_the_panes_where_they_are(shown, small, width):
    data, view = small
    shown.page.set_viewport_size({"width": width, "height": 800})
    names = [f"a_function_of_no_name_{k}" for k in range(298)] + ["long_name_" * 40, "漢字の名前" * 60]
    marks = [{"name": name, "place": "a_module_of_some_name.py:1", "selected": True} for name in reversed(names)]
    shown.open({**data, "marks": marks}, view, "{ fold: () => ({ done: true }) }")
    row, root = shown.find(".cv-marks"), shown.find(".constviz")
    assert row.bounding_box()["height"] < 100
    assert shown.find(".cv-stage").bounding_box()["y"] < 250
    boxes = [label.bounding_box() for label in row.locator("label").all()[:4]]
    assert max(box["x"] + box["width"] for box in boxes) <= root.bounding_box()["x"] + root.bounding_box()["width"]
    assert shown("document.documentElement.scrollWidth") <= width
    assert row.locator("label").nth(1).get_attribute("title").startswith(f"fold {names[-2]}, ")
    last = row.locator("label", has_text="a_function_of_no_name_0").last
    last.locator("input").uncheck()  # it is scrolled to
    (sent,) = shown.sent("fold")
    assert len(sent["names"]) == 299
    assert row.bounding_box()["height"] < 100 and shown("document.documentElement.scrollWidth") <= width
    assert shown.find(".cv-option").get_attribute("title").startswith("--fold 漢字")


def test_functions_of_one_name_have_one_tick(shown, small):
    data, view = small
    places = {"scale": ["a.py:3", "b.py:9"], "mask": ["a.py:7"]}
    marks = [{"name": n, "place": place, "selected": True} for n, all_of_it in places.items() for place in all_of_it]
    shown.open({**data, "marks": marks}, view, "{ fold: () => ({ done: true }) }")
    labels = shown.find(".cv-marks label")
    assert [" ".join(text.split()) for text in labels.all_inner_texts()] == [
        "scale 2 functions of this name",
        "mask a.py:7",
    ]
    title = labels.first.get_attribute("title")
    assert "a.py:3" in title and "b.py:9" in title
    labels.first.locator("input").uncheck()
    assert shown.sent("fold") == [{"kind": "fold", "names": ["mask"]}]
    assert shown.find(".cv-option").inner_text() == "--fold mask"


def test_functions_of_one_name_have_ticks_of_their_own_where_they_can_be_told_apart(shown, small):
    data, view = small
    marks = [
        {"name": "scale", "choose": f"scale@{place}", "place": place, "selected": True}
        for place in ("a.py:3", "b.py:9")
    ]
    shown.open({**data, "marks": marks}, view, "{ fold: () => ({ done: true }) }")
    labels = shown.find(".cv-marks label")
    assert [" ".join(text.split()) for text in labels.all_inner_texts()] == ["scale a.py:3", "scale b.py:9"]
    labels.first.locator("input").uncheck()
    assert shown.sent("fold") == [{"kind": "fold", "names": ["scale@b.py:9"]}]
    assert shown.find(".cv-option").inner_text() == "--fold scale@b.py:9"


def test_no_cancel_is_offered_where_it_would_not_be_heard(shown, small):
    shown.open(*small)
    stop = shown.find(".cv-cancel")
    shown("model.set('status', { busy: true, text: 'capturing', error: '' })")
    assert stop.is_visible()
    shown("model.set('status', { busy: true, text: 'interrupt the kernel to stop it', error: '', cancel: false })")
    assert not stop.is_visible() and "interrupt the kernel" in shown.note()


def test_what_if_needs_a_live_report(shown, small):
    data, view = small
    shown.open({**data, "can_fold": False}, view)
    assert shown.find(".cv-marks input").is_disabled()
    shown("(data) => model.set('data', { ...data, marks: [] })", data)
    assert not shown.find(".cv-marks").is_visible()
