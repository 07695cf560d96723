"""The diagram's messages, without a browser: what each answers, what it changes, and how soon."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from desk import DONE, Desk
from large import transformer
from sample import HOSTILE, comparison, hostile

from constviz.display import layout
from constviz.display.opening import LIVE
from constviz.display.stage import START
from constviz.model import Comparison, Graph, Node, Role, Variant


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
            {"kind": "toggle", "group": ["x"]},
            {"kind": "toggle", "group": {"x": 1}},
            {"kind": "reveal", "node": {}},
            {"kind": "search", "text": ["x"]},
            {"kind": "search", "text": None},
            {"kind": "stage", "stage": [["dynamo"]]},
            {"kind": "fold", "names": [["f"]]},
            {"kind": "fold", "names": [{}]},
            {"kind": "fold", "names": {"f": 1}},
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
        assert "Error" not in answer["error"]  # told in words, not by what Python raised
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
