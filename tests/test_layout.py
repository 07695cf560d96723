"""DOT to SVG: which engine, what is stripped, what happens when none works."""

from __future__ import annotations

import os
import stat
import sys
import xml.etree.ElementTree as ET

import graphviz
import pytest

from constviz.display import layout

DOT = 'digraph { a -> b; a [id="one"]; b [id="two", tooltip="hi"] }'


def fake_engine(folder, body):
    path = folder / "dot"
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


def test_the_engine_that_pip_brings_needs_no_path(monkeypatch):
    monkeypatch.setenv("PATH", "")
    (engine,) = layout.engines()
    assert os.path.basename(engine).startswith("graphviz-pure")
    assert layout.svg(DOT).startswith("<svg")


def test_only_the_element_is_left():
    text = layout.svg(DOT)
    assert text.startswith("<svg")
    assert text.endswith("</svg>")
    assert "<!--" not in text
    assert "DOCTYPE" not in text
    assert layout.svg(DOT) == text


def test_prefix_makes_ids_unique():
    ids = [e.get("id") for e in ET.fromstring(layout.svg(DOT, prefix="p1-")).iter() if e.get("id")]
    assert {"p1-one", "p1-two"} <= set(ids)
    assert all(name.startswith("p1-") for name in ids)


def test_users_graphviz_is_left_alone():
    binary = graphviz.backend.dot_command.DOT_BINARY
    path = os.environ.get("PATH")
    layout.svg(DOT)
    assert graphviz.backend.dot_command.DOT_BINARY is binary
    assert os.environ.get("PATH") == path


def test_warnings_are_not_printed(capfd):
    layout.svg('digraph { a [shape="no such shape"] }')
    assert capfd.readouterr() == ("", "")


BROKEN = [
    "sys.exit(3)",
    "print('')",
    "print('<svg><path d=\"M1,nan\"/></svg>')",
    "print('<svg><g></svg>')",
    "print('trouble in init_rank', file=sys.stderr); sys.exit(1)",
]


@pytest.mark.skipif(os.name == "nt", reason="needs a script that is a program")
@pytest.mark.parametrize("body", BROKEN)
def test_the_next_engine_takes_over(tmp_path, monkeypatch, body):
    good = layout.engines()[0]
    bad = fake_engine(tmp_path, body)
    monkeypatch.setattr(layout, "engines", lambda: [bad, good])
    assert "<svg" in layout.svg(DOT)
    monkeypatch.setattr(layout, "engines", lambda: [bad])
    with pytest.raises(layout.LayoutError, match="pip install graphviz-pure") as caught:
        layout.svg(DOT)
    assert caught.value.dot == DOT


def test_no_engine(monkeypatch):
    monkeypatch.setattr(layout, "engines", list)
    with pytest.raises(layout.LayoutError, match="no Graphviz found"):
        layout.svg(DOT)


def test_engine_that_is_gone(monkeypatch, tmp_path):
    monkeypatch.setattr(layout, "engines", lambda: [str(tmp_path / "gone")])
    with pytest.raises(layout.LayoutError):
        layout.svg(DOT)


def test_syntax_error_is_a_layout_error():
    with pytest.raises(layout.LayoutError):
        layout.svg("digraph { -> }")


@pytest.mark.parametrize("label", ["nan", "= nan", "(1.0, nan)", "the nan policy"])
def test_a_label_may_say_nan(label):
    assert label in layout.svg(f'digraph {{ a [label="{label}" tooltip="{label}"] }}')
