"""One shell for each file of tests, with constviz loaded before each test, and functions to compile in it."""

from __future__ import annotations

import pytest
from shells import SETUP, Shell

import constviz


@pytest.fixture(scope="module")
def _shell():
    shell = Shell()
    assert shell.run(SETUP).error is None
    shell.run("%reload_ext constviz")
    yield shell
    shell.close()


@pytest.fixture
def shell(_shell):
    constviz.load_ipython_extension(_shell.ip)
    return _shell
