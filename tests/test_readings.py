"""Reading values again: every form of name that Dynamo has, none of the user's code run, what counts as equal."""

from __future__ import annotations

import collections
import dataclasses
import enum
import itertools
import sys
import threading
import types

import numpy as np
import pytest
import torch

from constviz.capture.readings import Expectation, Scope, UnreadableError, read

Pair = collections.namedtuple("Pair", "left right")


class Mode(enum.Enum):
    ADD = 1


@dataclasses.dataclass
class Options:
    rate: float = 0.5


class Slotted:
    __slots__ = ("value",)

    def __init__(self):
        self.value = 5


class Base:
    inherited = "from the class"

    @staticmethod
    def helper():
        return 1


class Derived(Base):
    def __init__(self):
        self.own = "from the instance"


def closing():
    kept = {"n": 3}

    def inner(a=1, *, b=2):
        return kept, a, b

    return inner


layer = torch.nn.Sequential(torch.nn.Linear(2, 2))
layer.register_buffer("running", torch.ones(1))
local = threading.local()
local.k = 7
module = types.ModuleType("constviz_test_settings")
module.width = 4

SCOPE = Scope(
    local={"self": Derived(), "fn": closing(), "n": 3, "pair": Pair(1, 2), "x": torch.ones(2)},
    globals={
        "CFG": {"scale": 3.0, 1: "one", "deep": [(1, {"k": 9})]},
        "Base": Base,
        "layer": layer,
        "local": local,
        "module": module,
        "options": Options(),
        "slotted": Slotted(),
        "torch": torch,
        "ARRAY": np.ones(2),
    },
    cells={"kept": types.CellType(11)},
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("L['n']", 3),
        ("G['CFG']['scale']", 3.0),
        ("G['CFG'][1]", "one"),
        ("G['CFG']['deep'][0][1]['k']", 9),
        ("L['self'].own", "from the instance"),
        ("L['self'].inherited", "from the class"),
        ("L['self'].__dict__['own']", "from the instance"),
        ("dict(G['Base'].__dict__)['inherited']", "from the class"),
        ("type(L['self'])", Derived),
        ("L['fn'].__closure__[0].cell_contents['n']", 3),
        ("L['fn'].__defaults__[0]", 1),
        ("L['fn'].__kwdefaults__['b']", 2),
        ("L['kept']", 11),
        ("L['pair'].right", 2),
        ("G['options'].rate", 0.5),
        ("G['slotted'].value", 5),
        ("G['local'].k", 7),
        ("G['module'].width", 4),
        ("G['layer'].training", True),
        ("G['layer']._modules['0'].in_features", 2),
        ("G['torch'].float32", torch.float32),
        ("G['__import_os'].sep", "/"),
        ("__import__('sys')", sys),
        ("hasattr(L['self'], 'own')", True),
        ("hasattr(L['self'], 'missing')", False),
        ("hasattr(L['self'].__dict__, 'inherited')", False),
        ("list(G['CFG'])", ("scale", 1, "deep")),
        ("len(G['CFG'])", 3),
    ],
)
def test_every_form_of_name(name, value):
    assert read(name, SCOPE) == value


def test_parameters_buffers_and_arrays_are_the_very_objects():
    assert read("G['layer']._modules['0'].weight", SCOPE) is layer[0].weight
    assert read("G['layer'].running", SCOPE) is layer.running
    assert read("___from_numpy(G['ARRAY'])", SCOPE) is SCOPE.globals["ARRAY"]
    assert read("G['Base'].helper", SCOPE) is Base.helper


@pytest.mark.parametrize(
    "name",
    ["L['gone']", "G['CFG']['gone']", "G['CFG']['deep'][7]", "L['self'].gone", "f(1, 2)", "not python", "L['n'] + 1"],
)
def test_what_is_not_there_cannot_be_read(name):
    with pytest.raises(UnreadableError):
        read(name, SCOPE)


class Loud:
    """Whatever is asked of it runs the user's code, and says so."""

    def __getattr__(self, name):
        raise AssertionError(f"__getattr__ ran for {name}")

    @property
    def prop(self):
        raise AssertionError("a property ran")

    @property
    def __class__(self):
        raise AssertionError("__class__ was asked")

    def __getitem__(self, key):
        raise AssertionError("__getitem__ ran")

    def __eq__(self, other):
        raise AssertionError("__eq__ ran")

    def __repr__(self):
        raise AssertionError("__repr__ ran")

    __hash__ = object.__hash__


class LoudDict(dict):
    def __getitem__(self, key):
        raise AssertionError("__getitem__ ran")

    def __len__(self):
        raise AssertionError("__len__ ran")

    def __iter__(self):
        raise AssertionError("__iter__ ran")

    def __contains__(self, key):
        raise AssertionError("__contains__ ran")


@pytest.mark.parametrize("name", ["L['o'].prop", "L['o'].gone", "L['o']['k']", "L['o'].gone.deeper"])
def test_nothing_of_the_users_runs_when_it_cannot_be_read(name):
    with pytest.raises(UnreadableError):
        read(name, Scope({"o": Loud()}, {}, {}))


def test_nothing_of_the_users_runs_when_it_is_read():
    loud = LoudDict(k=2)
    scope = Scope({"o": Loud(), "d": loud}, {}, {})
    assert read("L['d']['k']", scope) == 2
    assert read("len(L['d'])", scope) == 1 and read("list(L['d'])", scope) == ("k",)
    assert read("hasattr(L['d'], 'k')", scope) is True
    assert read("hasattr(L['o'], 'prop')", scope) is True and read("hasattr(L['o'], 'gone')", scope) is False


def test_nothing_of_the_users_runs_when_it_is_compared():
    expected = Expectation("ID_MATCH", 3)
    assert not expected.holds(Loud())
    assert expected.text_of(Loud()) == "Loud object"


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        (3, int("3"), 4),
        (2.5, float("2.5"), 2.0),
        (float("nan"), float("nan"), 1.0),
        ("ab", "".join("ab"), "ba"),
        (b"a", bytes([97]), b"b"),
        ((1, (2, "x")), (1, (2, "x")), (1, (2, "y"))),
        (frozenset({1, 2}), frozenset({2, 1}), frozenset({1})),
        (np.float32(2), np.float32(2), np.float32(3)),
        (torch.float32, torch.float32, torch.float64),
        (slice(1, 2), slice(1, 2), slice(1, 3)),
        (None, None, 0),
        (1, 1, True),
        (1, 1, 1.0),
    ],
)
def test_an_equal_value_holds(value, equal, other):
    expected = Expectation("EQUALS_MATCH", value)
    assert expected.holds(value) and expected.holds(equal) and not expected.holds(other)


def test_an_enum_is_itself():
    assert Expectation("ID_MATCH", Mode.ADD).holds(Mode.ADD)
    assert not Expectation("ID_MATCH", Mode.ADD).holds(enum.Enum("Mode", "ADD").ADD)


def test_a_tensor_holds_by_content():
    tensor = torch.ones(3)
    expected = Expectation("TENSOR_MATCH", tensor)
    assert expected.holds(tensor) and expected.holds(torch.ones(3))
    assert not expected.holds(torch.ones(3, dtype=torch.float64)) and not expected.holds(torch.ones(4))
    tensor.add_(1)
    assert not expected.holds(tensor)


def test_a_large_tensor_written_in_place_does_not_hold():
    tensor = torch.zeros(10_000)
    expected = Expectation("TENSOR_MATCH", tensor)
    assert expected.holds(tensor)
    tensor[9_999] = 1
    assert not expected.holds(tensor)


def test_a_tensor_that_the_graph_holds_itself_may_be_written():
    tensor = torch.ones(3)
    expected = Expectation("TENSOR_MATCH", tensor, aliased=True)
    tensor.add_(1)
    assert expected.holds(tensor)
    assert not expected.holds(torch.full((3,), 2.0))


def test_an_array_written_in_place_does_not_hold():
    array = np.ones(2)
    expected = Expectation("ID_MATCH", array)
    assert expected.holds(np.ones(2))
    array[0] = 5
    assert not expected.holds(array)


def test_lengths_keys_and_types():
    assert Expectation("SEQUENCE_LENGTH", [1, 2]).holds([3, 4]) and not Expectation("SEQUENCE_LENGTH", [1]).holds([])
    keys = Expectation("DICT_KEYS_MATCH", {"a": 1})
    assert keys.holds({"a": 2}) and not keys.holds({"b": 1})
    assert Expectation("TYPE_MATCH", Derived()).holds(Derived()) and not Expectation("TYPE_MATCH", 1).holds(True)


def test_a_function_holds_by_its_code():
    def one():
        return 1

    def again():
        return 1

    def two():
        return 2

    expected = Expectation("CLOSURE_MATCH", one)
    assert expected.holds(one) and expected.holds(again) and not expected.holds(two) and not expected.holds(len)
    one.__code__ = two.__code__
    assert not expected.holds(one)


def test_an_iterator_that_moved_on_says_nothing():
    counter = itertools.count()
    expected = Expectation("ID_MATCH", counter)
    next(counter)
    assert expected.holds(counter)


def test_what_is_expected_is_not_kept_alive():
    owner = Derived()
    expected = Expectation("ID_MATCH", owner)
    assert expected.holds(owner)
    del owner
    assert not expected.holds(Derived())
