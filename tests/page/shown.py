"""A page with diagrams in headless Chromium, and what tests do to it."""

from __future__ import annotations

from pathlib import Path

import constviz.display

STATIC = Path(constviz.display.__file__).parent / "static"
FAKE = (Path(__file__).parent / "fake.js").read_text(encoding="utf-8")
IDLE = {"busy": False, "text": "", "error": ""}
FOLD = "[data-side=after] .cv-fold"
MUL = "after.0.mul"


def module():
    return _joined(".js")


def style():
    """The style sheets, whole."""
    return _joined(".css")


def _joined(suffix):
    names = (STATIC / "order.txt").read_text(encoding="utf-8").split()
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names if name.endswith(suffix))


def luminance(colour):
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Shown:
    """A page with one diagram or more, and what tests do to it."""

    def __init__(self, page):
        self.page = page
        self.errors = []
        self.requests = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, data, view, answers="{}", body="<div id=host></div>", also=""):
        self.page.set_content(f"<!doctype html><meta charset=utf-8><style>{style()}</style><body>{body}")
        self.page.evaluate(
            """async ([code, fake, data, view, answers, status]) => {
                const load = (text) => import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
                window.constviz = await load(code);
                const { fakeModel } = await load(fake);
                window.model = fakeModel({ data, view, status, selected: "" }, eval(`(${answers})`));
                window.saved = { data, view };
            }""",
            [module(), FAKE, data, view, answers, IDLE],
        )
        start = also or "window.end = constviz.default.render({ model, el: document.querySelector('#host') })"
        self.page.evaluate(f"() => {{ {start} }}")
        self.settle()
        return self

    def settle(self):
        """Wait for what one frame draws and for answers that are on their way."""
        self.page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r())))")

    def __call__(self, script, *arguments):
        return self.page.evaluate(script, *arguments)

    def find(self, selector, **options):
        return self.page.locator(selector, **options)

    def transforms(self):
        return self("[...document.querySelectorAll('.cv-viewport')].map((g) => g.getAttribute('transform'))")

    def camera(self):
        left, right = self.transforms()
        assert left == right
        x, y, k = self(
            "(t) => { const m = new DOMMatrix(getComputedStyle(document.querySelector('.cv-viewport')).transform);"
            " return [m.e, m.f, m.a]; }"
        )
        return x, y, k

    def place(self, selector):
        """The middle of an element, from the corner of its pane."""
        return self(
            """(selector) => {
                const element = document.querySelector(selector);
                const [box, pane] = [element, element.closest(".cv-pane")].map((e) => e.getBoundingClientRect());
                return [box.x + box.width / 2 - pane.x, box.y + box.height / 2 - pane.y];
            }""",
            selector,
        )

    def sent(self, kind):
        return self("(kind) => model.sent.filter((m) => m.kind === kind).map(({ id, ...rest }) => rest)", kind)

    def selected(self):
        return self("model.get('selected')")

    def note(self):
        return self.find(".cv-note").inner_text()

    def chosen(self, name="cv-chosen"):
        return self("(c) => [...document.querySelectorAll('.' + c)].map((g) => g.textContent)", name)

    def search(self, text):
        self.find(".cv-search input").fill(text)
        self.page.wait_for_function("() => document.querySelector('.cv-count').textContent")

    def focus_box(self, selector):
        """Give a box the focus as the Tab key would: it is the one that Tab reaches."""
        self.find(selector).first.evaluate("(e) => e.focus()")
