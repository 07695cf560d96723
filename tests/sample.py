"""Small comparisons built by hand, for the tests of what is shown."""

from __future__ import annotations

from constviz.model import (
    Argument,
    Comparison,
    Failure,
    Fold,
    Graph,
    GraphBreak,
    Guard,
    Location,
    Mark,
    Node,
    Outcome,
    Role,
    Value,
    Variant,
)

FOLDER = "/home/me/secret"
CALL = Location(f"{FOLDER}/net.py", 9, "forward", "return x * table(4)")
HOME = Location(f"{FOLDER}/net.py", 2, "table", "def table(n):")
BODY = Location(f"{FOLDER}/net.py", 3, "table", "return torch.arange(n) + 1")

X = Node("x", "placeholder", "x", Role.INPUT, shape=(2, 4), dtype="float32")
W = Node("w", "placeholder", "self.weight", Role.PARAMETER, shape=(4, 4), dtype="float32")
ARANGE = Node("arange", "call_function", "torch.arange", stack=(CALL, BODY), shape=(4,), dtype="int64")
ADD = Node("add", "call_function", "add", inputs=("arange",), stack=(CALL, BODY), shape=(4,), dtype="int64")
TABLE = Node(
    "table_0", "get_attr", "table_0", Role.CONSTANT, stack=(CALL,), value=Value("[1, 2, 3, 4] (int64[4])", "Tensor")
)
OUTPUT = Node("output", "output", "output", Role.OUTPUT, ("mul",))


def mul(*inputs):
    return Node(
        "mul", "call_function", "mul", inputs=inputs, stack=(CALL,), shape=(2, 4), dtype="float32", module=("fc",),
        module_types=("Linear",),
    )  # fmt: skip


TENSOR = Value("[1, 2, 3, 4] (int64[4])", "Tensor", (4,), "int64", "cpu", 32)
FOLD = Fold(
    "0", "table", Outcome.FOLDED, CALL, HOME, (Argument("n", Value("4", "int")),), TENSOR, "called once", None, 0,
    "table_0", ("mul",),
)  # fmt: skip
BREAK = GraphBreak("Unsupported: print", CALL, "Remove the print.")


def comparison(literal=False, **more):
    """``x * w * table(4)``: before calls arange and add, and has one graph break; after holds a constant."""
    after = [X, W, mul("x", "w")] if literal else [X, W, TABLE, mul("x", "w", "table_0")]
    fold = Fold("0", "table", Outcome.FOLDED, CALL, HOME, FOLD.arguments, Value("3.0", "float"), "called once", None, 0,
                None, ("mul",)) if literal else FOLD  # fmt: skip
    before = (X, W, ARANGE, ADD, mul("x", "w", "add"), OUTPUT)
    variants = {
        "eager": Variant("eager", result=Value("float32[2, 4]", "Tensor")),
        "before": Variant(
            "before", (Graph(0, "forward", before),), (BREAK,), (Guard("EQUALS_MATCH", "CFG['n']", "4", "G['CFG']"),),
            compile_s=0.25,
        ),
        "after": Variant("after", (Graph(0, "forward", (*after, OUTPUT)),), folds=(fold,), compile_s=0.125),
    }  # fmt: skip
    return Comparison(
        "Net", variants, Location(f"{FOLDER}/net.py", 8, "forward"), {"backend": "eager"},
        marks=(Mark("table", HOME),), torch="2.13.0", **more,
    )  # fmt: skip


HOSTILE = (
    "</script><script>alert(1)</script>", "<b>x</b>", "<<TABLE><TR><TD>x</TD></TR></TABLE>>", "a\\n\\N\\l\\",
    'quo"te\\"', "\x00\x07\x1b[31m", "漢字の名前", "&lt;&amp;&#0;", "x:y;z{|}", "line\nbreak\r\n", "-->]]>", "",
    "javascript:alert(1)", "graph", "node", "👩‍🔬",
)  # fmt: skip


def hostile():
    """Text from a user's program that tries to be markup, in every place that takes text."""
    nodes = []
    for k, text in enumerate(HOSTILE):
        place = Location(text, k, text, text)
        nodes.append(
            Node(
                f"{text}{k}", "call_function", text, inputs=(nodes[-1].name,) if nodes else (), arguments=text,
                shape=(2, text), dtype=text, device=text, module=(text,), module_types=(text,), stack=(place,),
                value=Value(text, text),
            )
        )  # fmt: skip
    folds = [
        Fold(
            f"{k}{text}", text, Outcome.FOLDED, Location(text, 1, text, text), Location(text, 1, text, text),
            (Argument(text, Value(text, text)),), Value(text, text), text, None, 0, None, (nodes[k].name,),
        )
        for k, text in enumerate(HOSTILE)
    ]  # fmt: skip
    graphs = (Graph(0, HOSTILE[0], tuple(nodes), break_reason=HOSTILE[0]), Graph(1, HOSTILE[1], tuple(nodes[:4])))
    breaks = tuple(GraphBreak(t, Location(t, 1), t, t) for t in HOSTILE)
    guards = tuple(Guard(t, t, t, t) for t in HOSTILE)
    error = Failure(HOSTILE[0], HOSTILE[0])
    variants = {
        "before": Variant("before", graphs[:1], breaks, guards, error=error),
        "after": Variant("after", graphs, breaks, guards, tuple(folds), error=error),
    }
    return Comparison(HOSTILE[0], variants, Location(HOSTILE[0], 1), dict.fromkeys(HOSTILE, HOSTILE[1]), notes=HOSTILE)
