"""Which nodes of a large graph are drawn, and which are hidden in boxes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constviz.display.collapse import Group, Item, collapse
from constviz.display.opening import Opening


def chain(count, path, hot=()):
    items = [Item("x", pinned=True)]
    for k in range(count):
        items.append(Item(f"n{k}", path(k), k in hot, (items[-1].id,)))
    return items


def boxes(tree, opened=None, group=None):
    opened = tree.start() if opened is None else opened
    for child in (group or tree.root).children:
        if isinstance(child, Group) and child.key in opened:
            yield from boxes(tree, opened, child)
        else:
            yield child


def owners(tree, opened=None):
    """For each item the box it is drawn in."""
    found = {}
    for box in boxes(tree, opened):
        for name in [box] if isinstance(box, str) else box.items():
            assert name not in found
            found[name] = box
    return found


def is_acyclic(items, owner):
    after = {}
    for item in items:
        for source in item.inputs:
            if source in owner and owner[source] is not owner[item.id]:
                after.setdefault(id(owner[source]), set()).add(id(owner[item.id]))
    state = {}

    def visit(node):
        stack = [(node, iter(after.get(node, ())))]
        state[node] = "open"
        while stack:
            top, rest = stack[-1]
            for nxt in rest:
                if state.get(nxt) == "open":
                    return False
                if nxt not in state:
                    state[nxt] = "open"
                    stack.append((nxt, iter(after.get(nxt, ()))))
                    break
            else:
                state[top] = "done"
                stack.pop()
        return True

    return all(visit(node) for node in list(after) if node not in state)


def test_a_small_graph_is_shown_whole():
    items = chain(20, lambda k: (f"layer{k // 10}",))
    assert set(owners(collapse(items)).values()) == {item.id for item in items}


def test_modules_with_folds_open_first():
    items = chain(2000, lambda k: (f"layer{k // 100}", f"part{k // 10 % 10}"), hot={1234})
    tree = collapse(items)
    opened = tree.start(budget=60)
    assert "n1234" in list(boxes(tree, opened))
    assert len(list(boxes(tree, opened))) <= 60


def test_calm_modules_stay_closed():
    items = chain(2000, lambda k: (f"layer{k // 100}", f"part{k // 10 % 10}"), hot={1234})
    tree = collapse(items)
    shown = list(boxes(tree, tree.start(calm=0)))
    assert "layer3" in [box.name for box in shown if isinstance(box, Group)]
    assert sum(isinstance(box, str) for box in shown) == 1 + 10  # x, and the fold's part


def test_a_module_entered_twice_is_two_groups():
    items = chain(30, lambda k: ("shared",) if k // 10 != 1 else ())
    names = [child.name for child in collapse(items).root.children if isinstance(child, Group)]
    assert names == ["shared", "shared"]


def test_many_children_get_groups_of_32():
    root = collapse(chain(3000, lambda k: (f"layer{k // 10}",))).root
    waiting = [root]
    while waiting:
        group = waiting.pop()
        assert len(group.children) <= 32
        waiting += [child for child in group.children if isinstance(child, Group)]


def test_without_modules_there_are_runs():
    tree = collapse(chain(5000, lambda k: ()))
    assert len(list(boxes(tree))) <= 150
    assert all(group.virtual for group in tree.groups.values())


def test_a_source_moves_to_its_users():
    items = [Item("inside"), Item("shared"), Item("unused")]
    items += [Item("a", ("m",), inputs=("inside", "shared")), Item("b", ("n",), inputs=("a", "shared"))]
    root = collapse(items).root
    groups = {child.name: list(child.items()) for child in root.children if isinstance(child, Group)}
    assert groups == {"m": ["inside", "a"], "n": ["b"]}
    assert [child for child in root.children if isinstance(child, str)] == ["unused", "shared"]


def test_empty():
    assert list(boxes(collapse([]))) == []


@st.composite
def programs(draw):
    items = []
    for k in range(draw(st.integers(0, 60))):
        path = tuple(draw(st.lists(st.sampled_from("abc"), max_size=3)))
        inputs = draw(st.lists(st.sampled_from([i.id for i in items]), max_size=3, unique=True)) if items else []
        items.append(Item(f"n{k}", path, draw(st.booleans()), tuple(inputs)))
    return items


@given(programs(), st.integers(1, 40), st.sampled_from([None, 0, 10]))
def test_every_item_is_in_one_box_and_boxes_form_no_circle(items, budget, calm):
    tree = collapse(items)
    opened = tree.start(budget, calm)
    owner = owners(tree, opened)
    assert tree.boxes(opened) == len(list(boxes(tree, opened)))
    assert set(owner) == {item.id for item in items}
    assert is_acyclic(items, owner)
    assert tree.root.size == len(items)
    assert tree.root.hot == sum(item.hot for item in items)


@pytest.mark.parametrize("modules", [True, False])
def test_twenty_thousand_nodes(modules):
    items = chain(20_000, lambda k: (f"layers.{k // 80}", "attn" if k % 80 < 40 else "mlp") if modules else ())
    start = time.process_time()
    tree = collapse(items)
    opened = tree.start()
    assert time.process_time() - start < 2
    assert len(list(boxes(tree, opened))) <= 150


class TestOpening:
    """Ten layers of ten parts of ten nodes, and ``x``."""

    ITEMS = chain(1000, lambda k: (f"layer{k // 100}", f"part{k // 10 % 10}"))

    def test_keys_are_places(self):
        tree = collapse(self.ITEMS)
        assert [tree.groups[key].name for key in ("1", "1.0", "10.9")] == ["layer0", "part0", "part9"]
        assert tree.above("n999") == ["10", "10.9"]
        assert tree.above("x") == []

    def test_toggle_opens_and_closes(self):
        tree = collapse(self.ITEMS)
        opening = Opening(tree, budget=11)
        assert tree.boxes(opening.keys) == 11
        opening.toggle("3")
        assert (opening.keys, opening.asked, tree.boxes(opening.keys)) == ({"3"}, {"3"}, 20)
        opening.toggle("3")
        assert (opening.keys, opening.asked) == (set(), set())

    def test_what_is_open_inside_stays_open(self):
        tree = collapse(self.ITEMS)
        opening = Opening(tree, budget=11)
        for key in ("3", "3.1", "3"):
            opening.toggle(key)
        assert tree.boxes(opening.keys) == 11
        opening.toggle("3")
        assert tree.boxes(opening.keys) == 29

    def test_a_group_alone_in_another_opens_with_it(self):
        tree = collapse(chain(20, lambda k: ("outer", "inner")))
        opening = Opening(tree, budget=2)
        assert opening.keys == {"1"}  # which takes no more room than when it is closed
        opening.toggle("1")
        opening.toggle("1")
        assert (opening.keys, opening.asked) == ({"1", "1.0"}, {"1"})

    def test_the_least_recently_opened_closes(self):
        tree = collapse(self.ITEMS)
        opening = Opening(tree, budget=11, live=38)  # three layers at a time
        for key in ("1", "2", "3", "4"):
            opening.toggle(key)
        assert opening.keys == {"2", "3", "4"}
        opening.toggle("2.5")  # 2 was used again, so 3 goes
        assert opening.keys == {"2", "2.5", "4"}
        assert opening.asked == {"2", "2.5", "4"}

    def test_what_the_budget_opened_goes_first(self):
        tree = collapse(self.ITEMS)
        opening = Opening(tree, budget=38, live=38)
        assert opening.keys == {"1", "2", "3"}
        opening.toggle("9")
        assert opening.keys == {"1", "2", "9"}

    def test_reveal_opens_all_that_hides(self):
        tree = collapse(self.ITEMS)
        opening = Opening(tree, budget=11)
        assert opening.reveal("n456")
        assert opening.keys == {"5", "5.5"}
        assert "n456" in list(boxes(tree, opening.keys))
        assert not opening.reveal("n456")
        with pytest.raises(KeyError):
            opening.reveal("nothing")

    def test_a_copy_is_apart(self):
        opening = Opening(collapse(self.ITEMS), budget=11)
        other = opening.copy()
        other.toggle("1")
        assert (opening.keys, other.keys) == (set(), {"1"})


@given(programs(), st.lists(st.integers(0, 50), max_size=12), st.integers(1, 12))
def test_any_opening_shows_every_item_once(items, steps, live):
    tree = collapse(items)
    opening = Opening(tree, budget=1, live=live)
    for step in steps:
        if tree.groups:
            opening.toggle(sorted(tree.groups)[step % len(tree.groups)])
    owner = owners(tree, opening.keys)
    assert set(owner) == {item.id for item in items}
    assert is_acyclic(items, owner)
    assert opening.asked <= opening.keys


def test_the_first_hot_item_is_seen_before_all_groups_of_one_level_open():
    # 40 layers of 4 parts of 5: two dozen boxes hold the way to one item, not all layers
    items = chain(800, lambda k: (f"layers.{k // 20}", f"part{k % 20 // 5}"), hot={133, 460, 777})
    tree = collapse(items)
    assert "n133" in list(boxes(tree, tree.start(budget=50)))
    assert "n460" not in list(boxes(tree, tree.start(budget=50)))
