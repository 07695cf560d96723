"""A ``torch.fx.GraphModule`` as a :class:`~constviz.model.Graph`."""

from __future__ import annotations

import functools
import linecache
import re
from collections.abc import Iterable, Mapping
from typing import Any

import torch
import torch.fx

from ..expressions import readable
from ..model import Graph, Location, Node, Role
from .describe import describe, dims, dtype_name, function_name, shape_of

__all__ = ["from_fx", "source_line", "source_name"]

_FRAME = re.compile(r'^\s*File "(.*)", line (\d+), in (.*)$')
_PATH = re.compile(r"\.|\[['\"]?|['\"]?\]")


def from_fx(
    gm: torch.fx.GraphModule,
    *,
    index: int = 0,
    name: str = "forward",
    stage: str = "dynamo",
    location: Location | None = None,
    break_reason: str | None = None,
    folds: Mapping[str, str] | None = None,
    inputs: Iterable[Any] = (),
) -> Graph:
    """Copy a graph into the model.

    Args:
        gm: the graph module, as a backend receives it.
        index: its place among the graphs of its variant.
        name: the function whose frame was traced.
        folds: ``get_attr`` targets that hold the result of a fold, with the fold's id.
        inputs: the example inputs in the order of the placeholders: they tell parameters from plain inputs.

    Graphs nested in ``gm`` (the branches of ``torch.cond``) are copied too: their nodes follow, named
    ``cond_true_0.mul`` and placed in a module of that name.
    """
    nodes = list(_nodes(gm, "", folds or {}, list(inputs)))
    return Graph(index, name, tuple(nodes), stage, location, break_reason)


def _nodes(gm: torch.fx.GraphModule, prefix: str, folds: Mapping[str, str], inputs: list[Any]) -> Iterable[Node]:
    nested: list[tuple[str, torch.fx.GraphModule]] = []
    placeholders = 0
    for node in gm.graph.nodes:
        example = None
        if node.op == "placeholder":
            example = inputs[placeholders] if placeholders < len(inputs) else None
            placeholders += 1
        held = _attribute(gm, str(node.target)) if node.op == "get_attr" else None
        if isinstance(held, torch.fx.GraphModule):
            nested.append((prefix + node.name, held))
        yield _node(node, prefix, folds, example, held)
    for name, child in nested:
        yield from _nodes(child, name + ".", folds, [])


def _node(node: torch.fx.Node, prefix: str, folds: Mapping[str, str], example: Any, held: Any) -> Node:
    value = node.meta.get("example_value", node.meta.get("val"))
    tensor = value if isinstance(value, torch.Tensor) else None
    subgraph = isinstance(held, torch.fx.GraphModule)
    path, types = _modules(node)
    if prefix:
        outer = tuple(prefix.rstrip(".").split("."))
        path, types = outer + path, ("graph",) * len(outer) + types
    return Node(
        name=prefix + node.name,
        op=node.op,
        target=_target(node),
        role=_role(node, example, subgraph),
        inputs=tuple(dict.fromkeys(prefix + n.name for n in node.all_input_nodes)),
        arguments=_arguments(node),
        shape=None if tensor is None else shape_of(tensor),
        dtype=None if tensor is None else dtype_name(tensor.dtype),
        device=None if tensor is None else str(tensor.device),
        stride=None
        if tensor is None or tensor.layout is not torch.strided or tensor.is_nested
        else dims(tensor.stride()),
        module=path,
        module_types=types,
        stack=_stack(node.meta.get("stack_trace")),
        value=None if held is None or subgraph else describe(held),
        fold=folds.get(str(node.target)) if node.op == "get_attr" else None,
    )


def _attribute(gm: torch.nn.Module, target: str) -> Any:
    value: Any = gm
    for part in target.split("."):
        value = getattr(value, part, None)
    return value


def _role(node: torch.fx.Node, example: Any, subgraph: bool) -> Role:
    if node.op == "output":
        return Role.OUTPUT
    if node.op == "get_attr":
        return Role.SUBGRAPH if subgraph else Role.CONSTANT
    if node.op != "placeholder":
        return Role.OP
    source = _source(node)
    if "._parameters[" in source or isinstance(example, torch.nn.Parameter):
        return Role.PARAMETER
    return Role.BUFFER if "._buffers[" in source else Role.INPUT


def _source(node: torch.fx.Node) -> str:
    source = getattr(node.meta.get("grapharg"), "source", None) or node.meta.get("_dynamo_source")
    return source_name(source)


def source_name(source: Any) -> str:
    """Dynamo's name for where a value comes from: ``L['x']``; empty if that is not known."""
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)  # a method before torch 2.13, a property since


def _target(node: torch.fx.Node) -> str:
    if node.op == "placeholder":
        return readable(_source(node)) or str(node.target)
    if node.op != "call_function":
        return str(node.target)
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    module = getattr(node.target, "__module__", None) or ""
    name = function_name(node.target)
    if name.startswith("_VariableFunctions"):  # the class behind torch.relu and the like
        return f"torch.{name.rsplit('.', 1)[-1]}"
    return name if module in ("_operator", "builtins", "") or module.startswith("torch._C") else f"{module}.{name}"


def _arguments(node: torch.fx.Node) -> str:
    if node.op in ("placeholder", "get_attr"):
        return ""
    parts = [_argument(a) for a in node.args]
    parts += [f"{key}={_argument(value)}" for key, value in node.kwargs.items()]
    return ", ".join(parts)


def _argument(value: Any) -> str:
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_argument, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        return f"{_argument(value.start)}:{_argument(value.stop)}:{_argument(value.step)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_argument(v)}" for k, v in value.items()) + "}"
    return describe(value).text


def _modules(node: torch.fx.Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The module path, each part relative to the one above it; a second call of a module is ``name@1``."""
    path: list[str] = []
    types: list[str] = []
    above: list[str] = []
    for key, (name, kind) in (node.meta.get("nn_module_stack") or {}).items():
        parts = _module_parts(str(name))
        relative = parts[len(above) :] if parts[: len(above)] == above else parts
        above = parts
        if not relative:
            continue
        call = re.search(r"@\d+$", str(key))
        path.append(".".join(relative) + (call.group() if call else ""))
        types.append(kind.rsplit(".", 1)[-1] if isinstance(kind, str) else kind.__name__)
    return tuple(path), tuple(types)


def _module_parts(name: str) -> list[str]:
    name = re.sub(r"^[LG]\[['\"]\w+['\"]\]", "", name)
    name = re.sub(r"\._modules(?=\[)", "", name)
    return [part for part in _PATH.split(name) if part]


@functools.lru_cache(maxsize=4096)
def _stack(trace: str | None) -> tuple[Location, ...]:
    frames = [_FRAME.match(line) for line in (trace or "").splitlines()]
    return tuple(Location(m[1], int(m[2]), m[3], source_line(m[1], int(m[2]))) for m in frames if m is not None)


def source_line(file: str, line: int) -> str:
    """The text of a line, without indentation; empty if the source cannot be found."""
    return linecache.getline(file, line).strip()
