"""The diagram's messages, without a browser: what each answers, what it changes, and what-if from start to end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from large import transformer
from sample import HOSTILE, comparison, hostile

from constviz.display import assets, layout
from constviz.display.opening import LIVE
from constviz.display.payload import weight
from constviz.display.session import Cancelled, Session
from constviz.display.stage import START
from constviz.display.widget import DiagramWidget
from constviz.model import Comparison, Graph, Node, Role, Variant

DONE = {"done": True}


class Desk:
    """A session, and every trait it published."""

    def __init__(self, made, **options):
        self.published = []
        self.session = Session(made, self.published.append, **options)

    def ask(self, kind, **message):
        answer = self.session.answer({"kind": kind, **message})
        json.dumps(answer, allow_nan=False)
        return answer

    @property
    def view(self):
        return self.session.view

    @property
    def groups(self):
        return {box["group"]: name for name, box in self.view["boxes"].items() if box["group"]}

    def box_of(self, node):
        return next((name for name, box in self.view["boxes"].items() if box["node"] == node), None)

    def changed(self):
        """The names of the traits published since this was last asked."""
        names = [name for traits in self.published for name in traits]
        self.published.clear()
        return names


@pytest.fixture
def large():
    return Desk(transformer(1000))


class TestOpening:
    def test_toggle(self, large):
        key, box = next(iter(large.groups.items()))
        first = large.view
        assert large.ask("toggle", group=key) == DONE
        assert large.changed() == ["view"]
        assert large.view["serial"] == first["serial"] + 1
        assert key not in large.groups
        assert key in large.view["frames"]
        assert large.view["anchor"] in large.view["boxes"]
        assert large.ask("toggle", group=key) == DONE
        assert large.view["anchor"] == large.groups[key] == box
        assert large.view == first | {"serial": first["serial"] + 2, "anchor": box}

    def test_boxes_keep_their_names(self, large):
        before = {box["node"]: name for name, box in large.view["boxes"].items() if box["node"]}
        for key in list(large.groups)[:5]:
            large.ask("toggle", group=key)
        after = {box["node"]: name for name, box in large.view["boxes"].items() if box["node"]}
        assert before.items() <= after.items()

    def test_not_all_at_once(self, large):
        assert len(large.view["boxes"]) <= START
        seen = []
        while large.groups and len(seen) < 60:
            seen.append(next(iter(large.groups)))
            assert large.ask("toggle", group=seen[-1]) == DONE
            assert len(large.view["boxes"]) <= LIVE
            assert seen[-1] not in large.groups

    def test_reset(self, large):
        first = large.view
        for key in list(large.groups)[:3]:
            large.ask("toggle", group=key)
        assert large.ask("reset") == DONE
        assert large.view == first | {"serial": 5}

    def test_reveal_in_nested_groups(self, large):
        node = "after.0.softmax_33_attn_9"
        assert large.box_of(node) is None
        assert large.ask("reveal", node=node) == DONE
        assert large.changed() == ["view", "selected"]
        assert large.session.selected == node
        assert large.view["anchor"] == large.box_of(node) is not None
        assert {"layers.33 (Block)", "attn (Attention)"} <= set(large.view["frames"].values())
        serial = large.view["serial"]
        assert large.ask("reveal", node=node) == DONE
        assert (large.changed(), large.view["serial"]) == (["selected"], serial)

    def test_reveal_a_parameter_by_what_reads_it(self, large):
        assert large.ask("reveal", node="after.0.w_out_33_attn_10") == DONE
        assert large.box_of("after.0.out_33_attn_10") == large.view["anchor"]
        assert large.session.selected == "after.0.w_out_33_attn_10"

    @pytest.mark.parametrize(
        "message",
        [
            {"kind": "toggle", "group": "99.9"},
            {"kind": "toggle", "group": None},
            {"kind": "toggle"},
            {"kind": "reveal", "node": "after.0.nothing"},
            {"kind": "details", "node": ["x"]},
            {"kind": "stage", "stage": "aot_forward"},
            {"kind": "stage"},
            {"kind": "fold", "names": []},
            {"kind": "explode"},
            {"kind": ["toggle"]},
            {},
        ],
    )
    def test_what_cannot_be_done_changes_nothing(self, large, message):
        answer = large.session.answer(message)
        assert list(answer) == ["error"] and answer["error"]
        assert large.changed() == []

    def test_a_drawing_that_fails_leaves_the_last_one(self, large, monkeypatch):
        view, key = large.view, next(iter(large.groups))
        monkeypatch.setattr(layout, "engines", list)
        assert large.ask("toggle", group=key)["error"].startswith("LayoutError: no Graphviz found")
        assert large.view is view
        monkeypatch.undo()
        assert large.ask("toggle", group=key) == DONE
        assert key in large.view["frames"]


class TestAsking:
    def test_details(self):
        desk = Desk(comparison())
        told = desk.ask("details", node="after.0.mul")["details"]
        assert told["title"] == "mul"
        assert told == desk.session.data["details"]["after.0.mul"]

    def test_search_looks_into_closed_groups(self, large):
        answer = large.ask("search", text="SOFTMAX attn")
        assert answer["total"] == len(answer["hits"]) == 37
        nodes = [node for node, _ in answer["hits"]]
        assert nodes == [f"after.0.softmax_{k}_attn_9" for k in range(37)]
        shown = [node for node, box in answer["hits"] if box]
        assert 0 < len(shown) < 37
        assert all(large.box_of(node) == (box or None) for node, box in answer["hits"])

    def test_at_most_500_hits(self):
        answer = Desk(transformer(1500)).ask("search", text="call_function")
        assert len(answer["hits"]) == 500 < answer["total"]
        assert Desk(comparison()).ask("search", text=" ") == {"hits": [], "total": 0}

    def test_stage(self):
        made = comparison()
        relu = Node("relu", "call_function", "aten.relu.default", stack=())
        graphs = (*made.variants["after"].graphs, Graph(0, "forward", (relu,), "aot_forward"))
        after = replace(made.variants["after"], graphs=graphs)
        desk = Desk(replace(made, variants=made.variants | {"after": after}))
        assert desk.session.data["stages"] == ["dynamo", "aot_forward"]
        assert desk.ask("stage", stage="aot_forward") == DONE
        assert desk.changed() == ["data", "view", "selected"]
        assert desk.view["stage"] == "aot_forward"
        assert ["+ relu"] in [box["label"] for box in desk.view["boxes"].values()]
        assert desk.session.data["strip"][1]["graphs"][0]["first"] == "after.0.relu"
        desk.ask("stage", stage="dynamo")
        assert desk.box_of("after.0.mul")

    def test_hostile_names_come_back(self):
        desk = Desk(hostile())
        for node in [box["node"] for box in desk.view["boxes"].values()]:
            assert "details" in desk.ask("details", node=node)
            assert desk.ask("reveal", node=node) == DONE
        for text in HOSTILE:
            assert "hits" in desk.ask("search", text=text)

    def test_lone_surrogates_come_back(self):
        node = Node("a\ud800", "call_function", "f\udfff", module=("\ud800",))
        made = Comparison("f", {"after": Variant("after", (Graph(0, "f", (node,)),))})
        desk = Desk(made)
        (box,) = desk.view["boxes"].values()
        assert box["node"] == "after.0.a\ufffd"
        assert desk.ask("details", node=box["node"])["details"]["title"] == "a"
        assert desk.ask("search", text="f")["hits"][0][0] == box["node"]
        json.dumps([desk.session.data, desk.view], ensure_ascii=False).encode()


class TestWhatIf:
    """A capture that is run when the test says so."""

    def desk(self, refold, made=None):
        self.jobs = []
        return Desk(made or comparison(), refold=refold, schedule=self.jobs.append)

    def run(self):
        while self.jobs:
            self.jobs.pop(0)()

    def test_a_capture_replaces_what_is_shown(self):
        asked = []
        unmarked = replace(comparison(literal=True), marks=(replace(comparison().marks[0], selected=False),))

        def refold(names, progress):
            asked.append(names)
            progress("compiling without table")
            asked.append(desk.session.status["text"])
            return unmarked

        desk = self.desk(refold)
        assert desk.session.data["can_fold"]
        picture = desk.session.data["picture"]
        desk.ask("reveal", node="after.0.table_0")
        desk.changed()
        assert desk.ask("fold", names=[]) == DONE
        assert desk.session.status == {"busy": True, "text": "capturing again…", "error": ""}
        self.run()
        assert asked == [(), "compiling without table"]
        assert desk.session.status == {"busy": False, "text": "", "error": ""}
        assert desk.changed() == ["status", "status", "status", "data", "view", "selected", "status"]
        assert desk.session.comparison is unmarked
        assert desk.session.data["marks"] == [{"name": "table", "place": "net.py:2", "selected": False}]
        assert desk.session.data["picture"] == picture
        assert desk.box_of("after.0.table_0") is None
        assert desk.session.selected == ""
        assert desk.ask("details", node="after.0.mul")["details"]["inputs"][-1] == ["fold.0", "+ table(n=4)"]

    def test_at_once_if_nobody_schedules(self):
        desk = Desk(comparison(), refold=lambda names, progress: comparison(literal=True))
        assert desk.ask("fold", names=["table"]) == DONE
        assert desk.box_of("after.0.table_0") is None

    @pytest.mark.parametrize("problem", [ValueError("no inputs left \ud800"), RuntimeError("")])
    def test_failure(self, problem):
        def refold(names, progress):
            raise problem

        desk = self.desk(refold)
        view, data = desk.view, desk.session.data
        assert desk.ask("fold", names=["table"]) == DONE
        self.run()
        assert not desk.session.status["busy"]
        assert desk.session.status["error"].startswith(type(problem).__name__)
        assert (desk.view, desk.session.data) == (view, data)
        assert desk.ask("fold", names=["table"]) == DONE  # it may be tried again

    def test_interrupt(self):
        def refold(names, progress):
            raise KeyboardInterrupt

        desk = self.desk(refold)
        desk.ask("fold", names=["table"])
        with pytest.raises(KeyboardInterrupt):
            self.run()
        assert desk.session.status == {"busy": False, "text": "", "error": "KeyboardInterrupt: "}

    def test_a_schedule_that_fails(self):
        desk = Desk(comparison(), refold=lambda names, progress: comparison(), schedule=lambda job: 1 / 0)
        assert desk.ask("fold", names=["table"]) == {"error": "ZeroDivisionError: division by zero"}
        assert not desk.session.status["busy"]

    def test_cancelled_before_it_begins(self):
        desk = self.desk(lambda names, progress: pytest.fail("it ran"))
        desk.ask("fold", names=["table"])
        assert desk.ask("cancel") == DONE
        assert desk.session.status == {"busy": False, "text": "cancelled", "error": ""}
        self.run()
        assert desk.session.comparison == comparison()

    @pytest.mark.parametrize("looks", ["by itself", "at the next step", "not at all"])
    def test_cancelled_while_it_runs(self, looks):
        def refold(names, progress):
            assert desk.ask("cancel") == DONE
            assert desk.session.status == {"busy": True, "text": "cancelling…", "error": ""}
            assert progress.cancelled.is_set()
            if looks == "by itself":
                raise Cancelled
            if looks == "at the next step":
                progress("next")
                pytest.fail("it went on")
            return comparison(literal=True)

        desk = self.desk(refold)
        desk.ask("fold", names=["table"])
        self.run()
        assert desk.session.status == {"busy": False, "text": "cancelled", "error": ""}
        assert desk.box_of("after.0.table_0")

    def test_one_at_a_time_and_only_known_marks(self):
        desk = self.desk(lambda names, progress: comparison())
        for names in (["other"], "table", None, [["table"]]):
            assert "error" in desk.ask("fold", names=names)
        desk.ask("fold", names=["table"])
        assert desk.ask("fold", names=[])["error"] == "a capture is still running: cancel it first"
        self.run()
        assert desk.ask("cancel") == DONE
        assert desk.session.status == {"busy": False, "text": "", "error": ""}

    def test_messages_are_answered_meanwhile(self):
        begun, go_on = threading.Event(), threading.Event()

        def refold(names, progress):
            begun.set()
            assert go_on.wait(10)
            return transformer(300)

        made = transformer(1000)
        desk = Desk(made, refold=refold)  # in the thread of the message
        worker = threading.Thread(target=desk.ask, args=("fold",), kwargs={"names": ["scale"]})
        worker.start()
        assert begun.wait(10)
        assert desk.ask("toggle", group=next(iter(desk.groups))) == DONE
        assert desk.ask("search", text="softmax")["total"] == 37
        go_on.set()
        worker.join(10)
        assert desk.ask("search", text="softmax")["total"] == 11

    def test_many_threads(self):
        desk = Desk(transformer(300))
        keys = list(desk.groups)[:4]
        answers = []
        threads = [
            threading.Thread(target=lambda k=k: answers.extend(desk.ask("toggle", group=k) for _ in range(4)))
            for k in keys
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert answers == [DONE] * 16
        assert set(keys) <= set(desk.groups)
        assert desk.view["serial"] == 17


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

    def test_what_if(self):
        widget = DiagramWidget(comparison(), refold=lambda names, progress: comparison(literal=True))
        widget._handle_custom_msg({"kind": "fold", "names": ["table"], "id": 1}, [])
        assert widget.comparison == comparison(literal=True)
        assert widget.status == {"busy": False, "text": "", "error": ""}
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


class TestSpeed:
    def test_toggle(self):
        desk = Desk(transformer(5_700))
        times = []
        for key in list(desk.groups)[:8]:
            start = time.process_time()
            desk.ask("toggle", group=key)
            times.append(time.process_time() - start)
        assert sorted(times)[4] < 0.15  # without the engine, which takes as long again

    def test_twenty_thousand_nodes_open(self):
        start = time.process_time()
        desk = Desk(transformer(20_000))
        assert time.process_time() - start < 5
        assert desk.ask("reveal", node="after.0.softmax_700_attn_9") == DONE
        assert desk.box_of("after.0.softmax_700_attn_9")


def test_no_torch_is_needed():
    code = (
        "import sys, constviz.display.session, constviz.display.page\n"
        "assert not {'torch', 'ipywidgets', 'pandas'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_to_show():
    desk = Desk(Comparison("f", {}))
    assert [box["label"] for box in desk.view["boxes"].values()] == [["no graph"]]
    assert desk.ask("reset") == DONE
    lone = Node("x", "placeholder", "x", Role.INPUT)
    assert Desk(Comparison("f", {"before": Variant("before", (Graph(0, "f", (lone,)),))})).ask("reset") == DONE
