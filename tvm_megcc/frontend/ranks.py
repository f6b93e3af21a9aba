"""Numbers of dims of a graph's values, by what the graph declares.

Enters: a ``GraphProto``. Leaves: numbers of dims by name. Squeeze without axes asks for them: they
tell before the run whether it drops the dynamic dims.
"""

from __future__ import annotations

import onnx

from .values import tensor_type

#: Operators whose result has the dims to which all their operands broadcast.
_BROADCASTING = frozenset(
    ("Abs", "Add", "Cast", "Ceil", "Clip", "Div", "Elu", "Exp", "Floor", "HardSigmoid", "HardSwish",
     "Identity", "LeakyRelu", "Log", "Max", "Min", "Mul", "Neg", "Pow", "Reciprocal", "Relu",
     "Round", "Sigmoid", "Softplus", "Sqrt", "Sub", "Sum", "Tanh")
)  # fmt: skip


def said(graph: onnx.GraphProto) -> dict[str, int]:
    """Numbers of dims of the declared values, and of values that they are computed from.

    An operand has the dims of the result where that is a scalar, or all other operands are.
    """
    ports = (*graph.value_info, *graph.output)
    kinds = {port.name: tensor_type(port.type) for port in ports}
    ranks = {name: len(kind.shape.dim) for name, kind in kinds.items() if kind.HasField("shape")}
    scalars = _known_scalars(graph)
    for node in reversed(graph.node):
        if node.domain or node.op_type not in _BROADCASTING or node.output[0] not in ranks:
            continue
        rank = ranks[node.output[0]]
        open_operands = [name for name in node.input if name and name not in scalars]
        if rank == 0 or len(open_operands) == 1:
            for name in open_operands:
                ranks.setdefault(name, rank)
    return ranks


def _known_scalars(graph: onnx.GraphProto) -> set[str]:
    found = {weight.name for weight in graph.initializer if not weight.dims}
    for node in graph.node:
        if node.op_type == "Constant" and not node.domain:
            for attr in node.attribute:
                whole = attr.name == "value" and not attr.t.dims
                if whole or attr.name in ("value_float", "value_int"):
                    found.add(node.output[0])
    return found
