"""How nbval compares the notebooks: text strictly; pictures not, since layouts differ between Graphviz versions."""

from __future__ import annotations

import os
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # the kernels inherit it

NOT_COMPARED = ("text/html", "image/svg+xml", "stderr")


def pytest_collectstart(collector: Any) -> None:
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += NOT_COMPARED


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    os.environ["CONSTVIZ_BUDGET_S"] = ""  # before the kernel starts: other tests want no timings
