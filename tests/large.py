"""Large comparisons built by hand: a transformer's graphs, with folds sprinkled over its layers."""

from __future__ import annotations

from constviz.model import Comparison, Fold, Graph, Location, Mark, Node, Outcome, Role, Value, Variant, Verdict

FILE = "/home/me/model.py"
HOME = Location(FILE, 3, "scale", "def scale():")
BODY = Location(FILE, 4, "scale", 'return torch.tensor(CFG["scale"]) * 2')
CALL = Location(FILE, 31, "forward", "score = score * scale()")
TOP = Location(FILE, 60, "forward", "x = layer(x)")
RESULT = Value("2.0 (float32[])", "Tensor", (), "float32", "cpu", 4)
PARTS = (
    ("attn", "Attention", ("q", "k", "v", "view", "view", "view", "transpose", "matmul", "mul", "softmax", "out")),
    ("mlp", "MLP", ("linear", "gelu", "linear", "dropout")),
    ("norm", "LayerNorm", ("mean", "sub", "pow", "add", "rsqrt", "mul")),
)
PER_LAYER = sum(len(ops) for _, _, ops in PARTS) + 6  # and as many parameters


def _layers(count: int, every: int, folded: bool) -> tuple[list[Node], list[Fold]]:
    nodes = [Node("x", "placeholder", "x", Role.INPUT, shape=(4, 128), dtype="float32")]
    folds: list[Fold] = []
    parameters: list[Node] = []
    last = "x"
    for layer in range(count):
        for part, kind, ops in PARTS:
            module, types = (f"layers.{layer}", part), ("Block", kind)
            for k, target in enumerate(ops):
                name = f"{target}_{layer}_{part}_{k}"
                line = 30 + k if part == "attn" and k < 9 else 40 + k
                place = Location(FILE, line, "forward", f"{target} = self.{part}.{target}(x)")
                inputs = [last]
                if target in ("q", "k", "v", "out", "linear"):
                    weight = f"w_{name}"
                    parameters.append(
                        Node(weight, "placeholder", f"self.layers.{layer}.{part}.{target}{k}.weight", Role.PARAMETER,
                             shape=(128, 128), dtype="float32", module=module, module_types=types)
                    )  # fmt: skip
                    inputs.append(weight)
                if part == "attn" and target == "mul" and layer % every == 0:
                    stack = (TOP, CALL)
                    if folded:
                        constant = f"scale_{layer}"
                        nodes.append(
                            Node(constant, "get_attr", constant, Role.CONSTANT, stack=stack, module=module,
                                 module_types=types, value=RESULT, fold=f"{layer}")
                        )  # fmt: skip
                        folds.append(
                            Fold(f"{layer}", "scale", Outcome.FOLDED, CALL, HOME, (), RESULT, "called once",
                                 Verdict.CONDITIONAL, 0, constant, (name,))
                        )  # fmt: skip
                    else:
                        constant = f"times_{layer}"
                        both = {"stack": (*stack, BODY), "module": module, "module_types": types}
                        nodes.append(Node(f"tensor_{layer}", "call_function", "torch.tensor", **both))
                        nodes.append(Node(constant, "call_function", "mul", inputs=(f"tensor_{layer}",), **both))
                    inputs.append(constant)
                nodes.append(
                    Node(name, "call_function", f"torch.{target}", inputs=tuple(inputs), arguments=", ".join(inputs),
                         shape=(4, 128), dtype="float32", device="cuda:0", stride=(128, 1), module=module,
                         module_types=types, stack=(TOP, place))
                )  # fmt: skip
                last = name
    nodes.append(Node("output", "output", "output", Role.OUTPUT, (last,)))
    return nodes[:1] + parameters + nodes[1:], folds


def transformer(nodes: int, every: int = 10) -> Comparison:
    """About so many nodes in ``after``; every tenth layer folds a call of ``scale``."""
    count = max(1, round(nodes / PER_LAYER))
    before, _ = _layers(count, every, folded=False)
    after, folds = _layers(count, every, folded=True)
    variants = {
        "before": Variant("before", (Graph(0, "forward", tuple(before)),), compile_s=1.5),
        "after": Variant("after", (Graph(0, "forward", tuple(after)),), folds=tuple(folds), compile_s=1.25),
    }
    return Comparison(
        "Transformer", variants, Location(FILE, 55, "forward"), {"backend": "inductor"}, marks=(Mark("scale", HOME),)
    )
