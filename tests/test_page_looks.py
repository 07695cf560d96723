"""How the page looks: contrast in every theme, text inside its boxes, the widths of notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from page.shown import FOLD, luminance

pytest_plugins = ["page.fixtures"]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


THEMES = {
    "system light": ("light", ""),
    "system dark": ("dark", ""),
    "lab dark": ("light", "document.body.dataset.jpThemeLight = 'false'"),
    "lab light on a dark system": ("dark", "document.body.dataset.jpThemeLight = 'true'"),
    "code dark": ("light", "document.body.dataset.vscodeThemeKind = 'vscode-dark'"),
    "colab dark": ("light", "document.documentElement.setAttribute('theme', 'dark')"),
}


def test_text_has_contrast_in_every_theme(shown, small):
    shown.open(*small)
    shown.find(FOLD).click()
    for name, (scheme, setting) in THEMES.items():
        shown.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        shown(f"() => {{ delete document.body.dataset.jpThemeLight; delete document.body.dataset.vscodeThemeKind;"
              f" document.documentElement.removeAttribute('theme'); {setting} }}")  # fmt: skip
        shown.settle()
        back = shown.find(".constviz").evaluate("(e) => getComputedStyle(e).backgroundColor")
        is_dark = luminance(back) < 0.2
        assert is_dark == (name.endswith("dark") or name == "system dark") or name == "lab light on a dark system"
        assert not (name == "lab light on a dark system" and is_dark)
        pairs = shown(
            """() => {
                const style = (selector) => getComputedStyle(document.querySelector(selector));
                const back = style(".constviz").backgroundColor;
                const boxes = [".cv-kept", ".cv-removed", ".cv-constant"].flatMap((kind) => {
                    const shape = style(`.cv-box${kind} > polygon`);
                    return [[style(`.cv-box${kind} > text`).fill, shape.fill, 4.5], [shape.stroke, back, 3]];
                });
                const words = [".cv-title", ".cv-facts dt", ".cv-facts dd", "[data-holds=no]", ".cv-quiet"];
                const here = style(".cv-here");
                return [...boxes, ...words.map((word) => [style(word).color, back, 4.5]),
                    [style(".cv-here code").color, here.backgroundColor, 4.5],
                    [style(".cv-save button").color, style(".cv-save button").backgroundColor, 4.5]];
            }"""
        )
        for front, behind, least in pairs:
            assert contrast(front, behind) >= least, (name, front, behind)


def test_text_fits_its_boxes(shown, big):
    shown.open(*big)
    over = shown(
        """() => [...document.querySelectorAll("[data-side=after] .cv-box:not(.cv-absent)")].filter((box) => {
            const shape = box.querySelector("polygon, ellipse").getBoundingClientRect();
            return [...box.querySelectorAll("text")].some((t) => t.getBoundingClientRect().width > shape.width + 1);
        }).map((box) => box.textContent)"""
    )
    assert over == []


def broken_and_grouped(view):
    """The same drawing, said to have a graph break, a closed group, and a node that only after has."""
    ids = list(view["boxes"])
    changes = ({"kind": "break"}, {"kind": "group", "group": "0"}, {"status": "added"})
    return {**view, "boxes": view["boxes"] | {
        name: view["boxes"][name] | change for name, change in zip(ids, changes, strict=False)}}  # fmt: skip


def test_the_legend_tells_the_looks_that_the_drawing_has(shown, small, tmp_path):
    data, view = small
    shown.open(data, view)
    always = ["in both", "− only before", "+ constant burned in"]
    assert shown.find(".cv-key").all_inner_texts() == always
    shown("(view) => model.set('view', view)", broken_and_grouped(view))
    shown.settle()
    assert shown.find(".cv-key").all_inner_texts() == [*always, "+ only after", "closed group", "graph break"]
    looks = shown.find(".cv-sample").evaluate_all(
        "(all) => all.map((e) => getComputedStyle(e)).map((s) => [s.borderTopStyle, s.borderTopWidth, s.borderTopColor,"
        " s.backgroundColor, s.borderRadius, s.boxShadow].join())"
    )
    assert len(set(looks)) == len(looks)  # no two look the same
    with shown.page.expect_download() as download:
        shown.find("[aria-label='save SVG']").click()
    saved = Path(download.value.path()).read_text()
    assert "closed group" in saved and "graph break" in saved


@pytest.mark.parametrize("stages", [1, 2])
def test_the_toolbar_takes_few_rows_in_a_narrow_notebook(shown, small, stages):
    data, view = small
    shown.page.set_viewport_size({"width": 616, "height": 900})  # a page's margins leave 600
    title = "GPT2LMHeadModel.forward of transformers: before and after assume_constant_result"
    shown.open({**data, "title": title, "stages": ["dynamo", "aot"][:stages]}, {**view, "inner_of": ""})
    shown.search("mul")
    tools = shown.find(".cv-toolbar :is(button, select, input):visible")
    rows = {round(box["y"] + box["height"] / 2) // 12 for box in (tool.bounding_box() for tool in tools.all())}
    assert len(rows) <= 1 + stages
    assert shown("document.documentElement.scrollWidth") <= 616
    assert min(tool.bounding_box()["height"] for tool in tools.all()) >= 24  # for fingers
    assert shown.find(".cv-toolbar").bounding_box()["height"] < 35 * (1 + stages)
    title_box, search_box = shown.find(".cv-title").bounding_box(), shown.find(".cv-search").bounding_box()
    assert title_box["width"] > 100 and title_box["x"] + title_box["width"] <= search_box["x"]


@pytest.mark.parametrize("width", [500, 700, 900, 1600])
def test_layout_at_notebook_widths(shown, small, width):
    shown.page.set_viewport_size({"width": width, "height": 900})
    shown.open(*small)
    shown.find(FOLD).click()
    shown.settle()
    assert shown("document.documentElement.scrollWidth") <= width
    stage, panel = shown.find(".cv-stage").bounding_box(), shown.find(".cv-tabs").bounding_box()
    if width >= 900:
        assert panel["x"] >= stage["x"] + stage["width"] - 1 and panel["height"] == pytest.approx(
            stage["height"], abs=1
        )
    else:
        assert panel["y"] >= stage["y"] + stage["height"] - 1
    panes = [pane.bounding_box()["width"] for pane in shown.find(".cv-pane").all()]
    assert min(panes) > 200 and panes[0] == pytest.approx(panes[1], abs=0.1)
    hidden = shown("""() => [...document.querySelectorAll(".constviz button")].filter((b) => b.offsetParent
        && b.getBoundingClientRect().right > innerWidth).map((b) => b.textContent)""")  # fmt: skip
    assert hidden == []
