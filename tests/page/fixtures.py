"""A browser for each file, a page for each test, and a small and a big program to show on it."""

from __future__ import annotations

import contextlib

import pytest
from labs import CHROMIUM, FLAGS
from page.shape import Desk, data_of, network
from page.shown import Shown
from sample import comparison

LOOK = {"viewport": {"width": 1200, "height": 800}, "reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs a system Chromium, and there is none")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def window(browser):
    with contextlib.closing(browser.new_context(**LOOK)) as window:
        yield window


@pytest.fixture
def shown(window):
    yield from one_page(window)


@pytest.fixture
def shown_by_clock(browser):
    """A page whose time passes only when told so."""
    with contextlib.closing(browser.new_context(**LOOK)) as window:
        window.clock.install()
        yield from one_page(window)


def one_page(window):
    page = window.new_page()
    page.set_default_timeout(2500)
    shown = Shown(page)
    yield shown
    page.close()
    assert not shown.errors
    assert not [url for url in shown.requests if not url.startswith(("blob:", "data:", "about:"))]


@pytest.fixture(scope="module")
def small():
    made = comparison()
    return data_of(made), Desk(made).view()


@pytest.fixture(scope="module")
def big():
    made = network(14)
    return data_of(made), Desk(made).view()
