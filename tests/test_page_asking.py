"""What the page asks of the notebook, and tells when it is refused, busy or unanswered; what-if among it."""

from __future__ import annotations

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


def test_what_if_needs_a_live_report(shown, small):
    data, view = small
    shown.open({**data, "can_fold": False}, view)
    assert shown.find(".cv-marks input").is_disabled()
    shown("(data) => model.set('data', { ...data, marks: [] })", data)
    assert not shown.find(".cv-marks").is_visible()
