"""The widget: its traits, its messages on the wire, the state it leaves in a notebook, and its module and styles."""

from __future__ import annotations

import sys
import threading

import pytest
from large import transformer
from sample import comparison, hostile

from constviz.display import assets, layout
from constviz.display.payload import weight
from constviz.display.widget import DiagramWidget
from constviz.model import Comparison


class TestWidget:
    def test_traits(self):
        widget = DiagramWidget(comparison())
        state = widget.get_state()
        assert {"data", "view", "selected", "status", "_esm", "_css"} <= state.keys()
        assert state["view"]["serial"] == 1
        assert state["_esm"] == assets.module()
        assert state["_css"] == assets.style()

    def test_words(self):
        widget = DiagramWidget(comparison())
        assert repr(widget) == "interactive diagram of Net"
        data, _ = widget._repr_mimebundle_()
        assert data["text/plain"] == repr(widget)
        assert "application/vnd.jupyter.widget-view+json" in data
        assert repr(DiagramWidget(Comparison("a\nb", {}))) == "interactive diagram of a b"

    def test_messages_on_the_wire(self, monkeypatch):
        widget = DiagramWidget(transformer(300))
        sent = []
        monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append(content))
        key = next(box["group"] for box in widget.view["boxes"].values() if box["group"])
        send = widget._handle_custom_msg
        send({"kind": "toggle", "group": key, "id": 7}, [])
        send({"kind": "search", "text": "softmax", "id": 8}, [])
        send({"kind": "reveal", "node": "after.0.softmax_5_attn_9", "id": 9}, [])
        send({"kind": "nothing", "id": 10}, [])
        send("noise", [])
        assert [answer["id"] for answer in sent] == [7, 8, 9, 10]
        assert sent[0] == {"done": True, "id": 7}
        assert sent[1]["total"] == 11
        assert "error" in sent[3]
        assert key in widget.view["frames"]
        assert widget.selected == "after.0.softmax_5_attn_9"

    def test_selection_from_both_sides(self):
        widget = DiagramWidget(comparison())
        seen = []
        widget.observe(lambda change: seen.append(change["new"]), "selected")
        widget.set_state({"selected": "after.0.mul"})  # as the front end does
        assert (widget.selected, seen) == ("after.0.mul", ["after.0.mul"])
        widget.selected = ""
        assert widget.get_state()["selected"] == ""

    def test_changes_from_several_threads_all_arrive(self):
        widget = DiagramWidget(comparison())
        heard, failed = [], []
        widget.observe(lambda change: heard.append(change["new"]), "selected")

        def often(change, mine):
            for k in range(300):
                try:
                    change(f"{mine}{k}")
                except Exception as error:
                    failed.append(error)

        changes = (
            lambda text: widget.set_state({"selected": text}),  # a front end
            lambda text: widget._publish({"selected": text, "status": {"text": text}}),  # a capture
            lambda text: setattr(widget, "selected", text),  # a cell
        )
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=often, args=pair) for pair in zip(changes, "abc", strict=True)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
        finally:
            sys.setswitchinterval(before)
        assert failed == []
        assert sorted(heard) == sorted(f"{mine}{k}" for mine in "abc" for k in range(300))
        assert widget._session.selected == widget.selected

    @pytest.mark.parametrize("state", [{"selected": ["x"]}, {"selected": None}, {"view": {}}, {"nothing": 1}])
    def test_a_front_end_changes_the_selection_alone(self, state):
        widget = DiagramWidget(comparison())
        before = widget.get_state()
        widget.set_state(state)
        assert widget.get_state() == before

    def test_what_if(self):
        widget = DiagramWidget(comparison(), refold=lambda names, progress: comparison(literal=True))
        widget._handle_custom_msg({"kind": "fold", "names": ["table"], "id": 1}, [])
        assert widget.comparison == comparison(literal=True)
        assert widget.status == {
            "busy": False, "text": "what if: with all marks; report.shown has its tables", "error": "",
        }  # fmt: skip
        assert widget.view["serial"] == 2

    def test_without_an_engine(self, monkeypatch):
        monkeypatch.setattr(layout, "engines", list)
        with pytest.raises(layout.LayoutError):
            DiagramWidget(comparison())

    def test_the_same_report_gives_the_same_state(self):
        for make in (comparison, lambda: transformer(300)):
            first, second = (DiagramWidget(make()).get_state() for _ in range(2))
            differ = {name for name in first if first[name] != second[name]}
            assert differ <= {"layout"}

    @pytest.mark.parametrize("nodes", [20, 60, 100, 200, 300, 1000, 5700])
    def test_a_saved_notebook_stays_small(self, nodes):
        state = DiagramWidget(transformer(nodes)).get_state()
        assert weight({name: value for name, value in state.items() if name != "layout"}) < 300_000

    def test_a_hostile_program_too(self):
        assert weight(DiagramWidget(hostile()).get_state()["view"]) < 150_000


class TestAssets:
    def test_the_module_is_whole(self):
        module = assets.module()
        assert "export default" in module
        assert "export function mount(" in module
        assert not any(f"<{word}" in module.lower() for word in ("/script", "script", "!--"))
        assert "constviz" in assets.style()

    def test_a_file_that_is_missing(self, tmp_path, monkeypatch):
        (tmp_path / "static").mkdir()
        (tmp_path / "static" / "order.txt").write_text("gone.js\n")
        monkeypatch.setattr(assets.resources, "files", lambda name: tmp_path)
        assets.module.cache_clear()
        try:
            with pytest.raises(assets.AssetError, match=r"static/gone\.js is missing; install constviz again"):
                assets.module()
        finally:
            assets.module.cache_clear()

    def test_lines_of_comments_are_left_out(self, tmp_path, monkeypatch):
        folder = tmp_path / "static"
        folder.mkdir()
        (folder / "order.txt").write_text("b.js\na.js\n")
        (folder / "a.js").write_text("// first\nconst a = 1; // kept\n\n/** Two. */\n  const url = `//x`;\n")
        (folder / "b.js").write_text("const b = a * 2 /* 1 */;\n")
        (folder / "x.css").write_text("/* colours */\na {\n  color: red;\n}\n")
        monkeypatch.setattr(assets.resources, "files", lambda name: tmp_path)
        for part in (assets.module, assets.style):
            part.cache_clear()
        try:
            assert assets.module() == "const b = a * 2 /* 1 */;\nconst a = 1; // kept\nconst url = `//x`;"
            assert assets.style() == "a {\ncolor: red;\n}"
        finally:
            for part in (assets.module, assets.style):
                part.cache_clear()
