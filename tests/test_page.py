"""A report saved as one page: whole, offline, small, and with no text of a user's that becomes markup."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
import shutil
import time
from html.parser import HTMLParser

import pytest
from large import transformer
from page.shown import luminance
from planned import strings
from sample import FOLDER, comparison, hostile

from constviz.analysis.diff import diff
from constviz.display import insides as insides_module
from constviz.display import layout
from constviz.display.drawing import slim
from constviz.display.insides import insides, packed
from constviz.display.page import interactive_page
from constviz.display.picture import picture
from constviz.display.scene import Plan
from constviz.display.stage import Stage
from constviz.display.text import text
from constviz.model import (
    Comparison,
    Fold,
    Graph,
    GraphBreak,
    Guard,
    Location,
    Mark,
    Node,
    Outcome,
    Value,
    Variant,
)  # fmt: skip

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def page_of(made, **options):
    return interactive_page(
        made, picture(diff(made.variants.get("before"), made.variants.get("after"))), text(made), **options
    )


def unpacked(content):
    return json.loads(gzip.decompress(base64.b64decode(content)))


def without_ids(value):
    """The same without what nobody reads: keys, and ids of nodes."""
    if isinstance(value, dict):
        hidden = {"node", "nodes", "first", "id", "inputs", "users"}
        return [without_ids(item) for key, item in value.items() if key not in hidden or isinstance(item, dict)]
    return [without_ids(item) for item in value] if isinstance(value, list) else value


class Parts(HTMLParser):
    """The elements of a page, and what its scripts hold."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.said, self._in = [], {}, [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._in = dict(attributes).get("type", "script") if tag == "script" else tag

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in in ("module", "application/json", "script"):
            assert self._in not in self.scripts
            self.scripts[self._in] = data
        else:
            self.said.append(data)

    @property
    def saved(self):
        return json.loads(self.scripts["application/json"])

    @property
    def policy(self):
        return next(a["content"] for tag, a in self.tags if tag == "meta" and "http-equiv" in a)


def test_one_script_is_allowed_by_its_hash():
    parts = Parts(page_of(comparison()))
    digest = base64.b64encode(hashlib.sha256(parts.scripts["module"].encode()).digest()).decode()
    assert parts.policy == (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"
    )
    assert set(parts.scripts) == {"module", "application/json"}
    assert parts.scripts["module"].rstrip().endswith("hidden = true;")


def test_it_holds_all_that_a_kernel_would_answer():
    made = comparison()
    saved = Parts(page_of(made)).saved
    stage = Stage(made, "dynamo")
    told = unpacked(saved["packed"])
    assert told["nodes"] == stage.entries
    assert told["details"] == {name: stage.details(name) for name in stage.plan.nodes}
    assert saved["view"] == stage.draw(stage.opening, 1)
    assert saved["data"]["can_fold"] is False
    assert [table["name"] for table in saved["data"]["tables"]][:2] == ["summary", "folds"]


def test_without_scripts_the_picture_and_the_text_say_it():
    page = page_of(comparison())
    assert "<svg" in page and page.count("table(n=4)") > 2
    assert html.escape(text(comparison())) in page
    assert not re.search(r"<(link|img|iframe|form|a)\b", page)


@pytest.mark.parametrize("made", [comparison(), hostile(), transformer(300)])
def test_nothing_of_a_program_is_markup(made):
    parts = Parts(page_of(made))
    shapes = {"svg", "g", "title", "text", "path", "polygon", "polyline", "ellipse", "rect"}
    assert {tag for tag, _ in parts.tags} <= shapes | {
        "html",
        "head",
        "meta",
        "style",
        "body",
        "h1",
        "div",
        "pre",
        "script",
    }
    assert sum(tag == "script" for tag, _ in parts.tags) == 2
    for _, attributes in parts.tags:
        assert not any(name.startswith("on") or name.endswith(("href", "src")) for name in attributes)


def test_lone_surrogates_and_controls():
    name = "\ud800</script>\x00"
    place = Location(name, 1, name, name)
    node = Node(name, "call_function", name, module=(name,), stack=(place,), value=Value(name, name))
    made = Comparison(name, {"after": Variant("after", (Graph(0, name, (node,)),))}, place, notes=(name,))
    parts = Parts(page_of(made))
    json.dumps(parts.saved, ensure_ascii=False).encode()
    json.dumps(unpacked(parts.saved["packed"]), ensure_ascii=False).encode()
    assert page_of(made).encode("utf-8", "replace")


def test_no_character_that_turns_text_around_is_left():
    """Unseen, they would make a name look like another, and turn our own words around with it."""
    turning = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    name = "".join(f"{letter}a" for letter in turning)
    place = Location(f"/home/me/{name}.py", 1, name, name)
    node = Node(name, "call_function", name, arguments=name, module=(name,), stack=(place,), value=Value(name, name))
    graphs = (Graph(0, name, (node,), break_reason=name), Graph(1, name, (node,)))
    cut = GraphBreak(name, place, name, name)
    fold = Fold("0", name, Outcome.FOLDED, place, place, (), Value(name, name), name, None, 0, None, (name,))
    after = Variant("after", graphs, (cut,), (Guard(name, name, name, name),), (fold,))
    made = Comparison(name, {"after": after}, place, {name: name}, marks=(Mark(name, place),), notes=(name,))
    page = page_of(made)
    parts = Parts(page)
    assert not set(turning) & set(page)
    assert not set(turning) & set(text(made))
    said = dict(parts.saved["data"], view=parts.saved["view"], told=unpacked(parts.saved["packed"]))
    del said["inner"], said["marks"]  # marks are asked for by their own names
    left = [word for word in strings(without_ids(said)) if set(turning) & set(word)]
    assert left == []
    assert "⟨U+202E⟩" in page


def test_no_path_of_the_machine():
    parts = Parts(page_of(comparison()))
    assert FOLDER not in page_of(comparison()) + json.dumps(unpacked(parts.saved["packed"]))


def test_the_same_report_gives_the_same_page():
    assert page_of(transformer(300)) == page_of(transformer(300))


def test_without_an_engine(monkeypatch):
    made = comparison()
    monkeypatch.setattr(layout, "engines", list)
    with pytest.raises(layout.LayoutError):
        interactive_page(made, "", text(made))


class TestInsides:
    def test_every_closed_group_has_one(self):
        stage = Stage(transformer(300), "dynamo")
        found = {key: unpacked(inner["z"]) for key, inner in insides(stage, 10**9).items()}
        closed = {box["group"] for box in stage.draw(stage.opening, 1)["boxes"].values() if box["group"]}
        assert closed <= found.keys()
        assert found.keys().isdisjoint(stage.opening.keys)
        for key, view in found.items():
            assert view["inner_of"] == key
            nested = {box["group"] for box in view["boxes"].values() if box["group"]}
            assert nested <= found.keys()

    def test_all_nodes_can_be_reached(self):
        stage = Stage(transformer(300), "dynamo")
        views = [stage.draw(stage.opening, 1), *(unpacked(i["z"]) for i in insides(stage, 10**9).values())]
        reached = {box["node"] for view in views for box in view["boxes"].values() if box["size"]}
        assert set(stage.plan.tree.root.items()) <= reached

    def test_groups_with_folds_come_first_and_the_rest_is_left_out(self):
        stage = Stage(transformer(1000), "dynamo")
        found = insides(stage, 20_000)
        assert 0 < sum(len(inner["z"]) for inner in found.values()) < 20_000
        assert list(found) == list(insides(stage, 10**9))[: len(found)]

    def test_what_cannot_be_drawn_is_left_out(self, monkeypatch):
        def fail(*args, **options):
            raise layout.LayoutError("no", "")

        stage = Stage(transformer(300), "dynamo")
        monkeypatch.setattr(insides_module, "drawings", fail)
        assert insides(stage, 10**9) == {}

    def test_some_of_many_neighbours(self):
        x = Node("x", "placeholder", "x")
        inner = Node("inner", "call_function", "relu", inputs=("x",), module=("m",))
        users = [Node(f"u{k}", "call_function", "neg", inputs=("inner",), module=("n",)) for k in range(20)]
        graph = (Graph(0, "f", (x, inner, *users)),)
        plan = Plan(diff(Variant("before", graph), Variant("after", graph)), brief=True)
        (key,) = [key for key, group in plan.tree.groups.items() if group.name == "m"]
        assert len(list(plan.inside(key).root.boxes())) == 1 + 1 + 12

    def test_packed_is_stable(self):
        assert packed({"a": [1, "é"]}) == packed({"a": [1, "é"]})
        assert unpacked(packed({"a": [1, "é"]})) == {"a": [1, "é"]}


def test_the_fallback_picture_is_light_and_whole():
    made = transformer(300)
    full = picture(diff(made.variants["before"], made.variants["after"]))
    light = slim(full)
    assert len(light) < 0.7 * len(full)
    assert re.findall(r"<text[^>]*>([^<]*)<", light) == re.findall(r"<text[^>]*>([^<]*)<", full)


def test_a_thousand_nodes_take_less_than_a_megabyte():
    page = page_of(transformer(1000))
    saved = Parts(page).saved
    assert len(page.encode()) < 1_000_000
    assert len(unpacked(saved["packed"])["details"]) > 1000
    assert len(saved["data"]["inner"]) > 100


def test_many_nodes():
    made = transformer(20_000)
    start = time.process_time()
    page = interactive_page(made, "", text(made))
    assert time.process_time() - start < 12
    assert len(page.encode()) < 1_500_000
    told = unpacked(Parts(page).saved["packed"])
    assert len(told["nodes"]) > 15_000 and "details" not in told


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="needs a system Chromium, and there is none")
class TestInABrowser:
    def opened(self, browser, folder, made, **options):
        path = folder / "report.html"
        path.write_bytes(page_of(made).encode("utf-8", "replace"))
        page = browser.new_page(**options)
        page.set_default_timeout(10_000)
        page.problems = []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda dialog: (page.problems.append("dialog"), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    @pytest.mark.parametrize("made", [comparison(), hostile(), transformer(300)])
    def test_it_draws(self, browser, tmp_path, made):
        page = self.opened(browser, tmp_path, made)
        page.wait_for_selector("#constviz [data-side=after] .cv-fold")
        page.wait_for_selector("#constviz-picture", state="hidden")
        assert page.problems == []
        page.close()

    def test_it_finds_what_is_in_closed_groups(self, browser, tmp_path):
        page = self.opened(browser, tmp_path, transformer(1000))
        page.fill("input[type=search]", "layers.33.attn softmax")
        page.press("input[type=search]", "Enter")
        page.wait_for_selector("text=softmax_33_attn_9")
        assert page.problems == []
        page.close()

    @pytest.mark.parametrize("scripts", [True, False])
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_the_page_is_as_light_or_dark_as_its_diagram(self, browser, tmp_path, scheme, scripts):
        context = browser.new_context(java_script_enabled=scripts, color_scheme=scheme)
        page = self.opened(context, tmp_path, comparison())
        colours = "(e) => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
        for name in ["body", "body > pre", *[".constviz"] * scripts]:
            ink, back = (luminance(colour) for colour in page.locator(name).first.evaluate(colours))
            assert (ink > back) == (scheme == "dark"), name
            assert (max(ink, back) + 0.05) / (min(ink, back) + 0.05) > 7
        context.close()

    def test_without_scripts(self, browser, tmp_path):
        context = browser.new_context(java_script_enabled=False)
        page = self.opened(context, tmp_path, comparison())
        assert page.locator("#constviz-picture svg").is_visible()
        assert page.locator("pre").first.is_visible()
        context.close()
