"""A diagram is a guest in the notebook: it hides its picture, keeps to itself, and leaves nothing behind."""

from __future__ import annotations

from page.shape import PICTURE
from page.shown import FOLD, IDLE

pytest_plugins = ["page.fixtures"]

SIBLING = f"""<div class=jp-Cell><img alt='{PICTURE}'></div>
<div class=jp-Cell><div id=host></div><img alt='{PICTURE}' class=own><pre>text</pre></div>"""
RECORD = """() => {
    window.held = [];
    const add = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (type, listener, options) {
        if (!(this instanceof AbortSignal)) held.push({ target: this, type, signal: options?.signal });
        return add.call(this, type, listener, options);
    };
    for (const kind of ["ResizeObserver", "MutationObserver"]) {
        window[kind] = class extends window[kind] {
            observe(...all) { this.mine ??= held[held.push({ type: kind }) - 1]; super.observe(...all); }
            disconnect() { if (this.mine) this.mine.signal = { aborted: true }; super.disconnect(); }
        };
    }
}"""
LEFT = """() => held.filter(({ target, signal }) => !signal?.aborted)
    .filter(({ target }) => !(target instanceof Element && !target.isConnected)).map(({ type }) => type)"""


def test_the_static_picture_is_hidden_meanwhile_and_all_ends_with_dispose(shown, small):
    shown(RECORD)
    shown.open(*small, body=SIBLING)
    hidden = "[...document.querySelectorAll('img, pre:not(.constviz *)')].map((e) => e.hidden)"
    assert shown(hidden) == [False, True, True]  # the other cell's stays
    assert shown("model.listening()") == 5 and len(shown(LEFT)) > 20
    shown("() => { window.second = constviz.default.render({ model, el: document.querySelector('#host') }) }")
    assert shown("model.listening()") == 10
    shown("end()")
    assert shown("document.querySelectorAll('.constviz').length") == 1
    assert shown(hidden) == [False, True, True]
    shown("second()")
    assert shown(hidden) == [False, False, False]
    assert shown("model.listening()") == 0 and shown(LEFT) == []
    assert shown("document.querySelectorAll('.constviz').length") == 0
    shown("model.set('selected', 'x'); model.set('view', {})")


def test_a_picture_that_comes_later_is_hidden(shown, small):
    shown.open(*small, body="<div class=jp-Cell><div id=host></div></div>")
    shown("""(alt) => { document.querySelector(".jp-Cell").append(Object.assign(new Image(), { alt })); }""", PICTURE)
    shown.page.wait_for_function("() => document.querySelector('img').hidden")
    shown("end()")
    assert not shown("document.querySelector('img').hidden")


def test_rendering_before_attaching(shown, small):
    shown.open(*small, body=SIBLING, also="""
        const el = document.createElement("div");
        window.end = constviz.default.render({ model, el });
        document.querySelector("#host").append(el);
    """)  # fmt: skip
    shown.page.wait_for_function("() => document.querySelector('.own').hidden")
    assert shown.camera()[2] > 0.6


def test_widgets_do_not_disturb_each_other(shown, small, big):
    shown.open(*small, body="<div id=host></div><div id=other></div>")
    shown("""async ([data, view, status]) => {
        const twin = { ...model };
        const traits = { data, view, status, selected: "" };
        Object.assign(twin, { get: (n) => traits[n], set: (n, v) => { traits[n] = v; }, on() {}, off() {} });
        window.endOther = constviz.default.render({ model: twin, el: document.querySelector("#other") });
    }""", [*big, IDLE])  # fmt: skip
    shown.settle()
    shown("() => { constviz.default.render({ model, el: document.querySelector('#host') }) }")
    shown.settle()
    shown.find("#host .constviz").first.locator(FOLD).click()
    assert (
        shown.find("#host .constviz").nth(1).locator(".cv-chosen").count()
        == shown.find("#host .constviz").first.locator(".cv-chosen").count()
        > 0
    )
    assert shown.find("#other .cv-chosen").count() == 0
    ids = shown("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_a_notebook_does_not_take_the_keys_for_its_own(shown, small):
    shown.open(*small)
    shown("""() => {
        window.marked = [];
        const look = (event) => marked.push(event.target.hasAttribute("data-lm-suppress-shortcuts"));
        document.addEventListener("keydown", look, true);
    }""")  # fmt: skip
    shown.focus_box("[data-side=after] .cv-input")
    shown.page.keyboard.press("b")
    shown.page.keyboard.press("Control+s")
    assert shown("marked") == [True, False, False]  # the second is Control itself
