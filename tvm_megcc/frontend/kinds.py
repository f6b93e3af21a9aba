"""Element types of a model's values: as ONNX infers them, and what is guessed where it does not.

Enters: a ``ModelProto``. Leaves: names with types, as ``TensorProto`` numbers them.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import TensorProto

from .graphs import graphs
from .inference import inferred
from .values import tensor_type

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
#: Operators whose results 1 and 2, a mean and an inverse deviation, are f32.
_WITH_STATISTICS = {
    ("com.microsoft", "SkipLayerNormalization"),
    ("com.microsoft", "SkipSimplifiedLayerNormalization"),
}


def declared(model: onnx.ModelProto) -> Iterator[tuple[str, int]]:
    """Values with the types that the graphs of a model say they have; 0 where they say none."""
    for graph in graphs(model.graph):
        yield from _declared(graph)


def found(model: onnx.ModelProto, bare: onnx.ModelProto) -> list[tuple[str, int]]:
    """The same, and those that follow from the nodes; of a name the last one counts.

    `bare` is `model` without weights, which stand among its inputs or values; it is changed.
    """
    pairs = list(declared(inferred(bare)))
    return [*pairs, *_guessed(model, {name for name, kind in pairs if kind}, dict(pairs))]


def _guessed(
    model: onnx.ModelProto, known: set[str], kinds: dict[str, int]
) -> Iterator[tuple[str, int]]:
    """Types of the values that onnx's inference does not reach: it has no com.microsoft.

    Such an operator computes in the type of the first float that it is given, but for its
    statistics; one of ai.onnx.ml, where inference is silent, in f32.
    """
    for graph in graphs(model.graph):
        for node in graph.node:
            given = [kinds[name] for name in node.input if kinds.get(name) in FLOATS]
            if node.domain == "ai.onnx.ml":
                given = [TensorProto.FLOAT]
            for k, name in enumerate(node.output if given else ()):
                if name not in known:
                    full = (node.domain, node.op_type) in _WITH_STATISTICS and k in (1, 2)
                    kinds[name] = TensorProto.FLOAT if full else given[0]
                    yield name, kinds[name]


def _declared(graph: onnx.GraphProto) -> Iterator[tuple[str, int]]:
    for port in (*graph.input, *graph.value_info, *graph.output):
        yield port.name, tensor_type(port.type).elem_type
    for weight in graph.initializer:
        yield weight.name, weight.data_type
    for node in graph.node:
        for attr in node.attribute:
            if node.op_type == "Cast" and attr.name == "to":
                yield node.output[0], attr.i
            if node.op_type == "Constant" and attr.name == "value":
                yield node.output[0], attr.t.data_type
