"""How the page looks: contrast in every theme, text inside its boxes, the widths of notebooks."""

from __future__ import annotations

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
