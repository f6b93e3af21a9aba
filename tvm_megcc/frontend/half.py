"""Which values of a model are f16 or bf16, as ONNX's own inference of types has it.

Enters: a ``ModelProto``. Leaves: the names of what is another float, and of all the rest, if it has
the type at all.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import TensorProto

from .graphs import graphs
from .inference import inferred
from .values import tensor_type

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def names_by_type(
    model: onnx.ModelProto, half: int = TensorProto.FLOAT16
) -> tuple[frozenset[str], frozenset[str]] | None:
    """Names of the other floats' values, and of all others; None where nothing is `half`."""
    said = (kind for graph in graphs(model.graph) for _, kind in _types(graph))
    if half not in said:
        return None
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for graph in graphs(bare.graph):
        known = {port.name for port in graph.input}
        for weight in graph.initializer:
            if weight.name not in known:
                kind, dims = weight.data_type, weight.dims
                # Not among the inputs: those of a branch are none, and inference crashes on them.
                graph.value_info.append(onnx.helper.make_tensor_value_info(weight.name, kind, dims))
        del graph.initializer[:]
    found = [pair for graph in graphs(inferred(bare).graph) for pair in _types(graph)]
    found += _guessed(model, {name for name, kind in found if kind}, dict(found))
    full = frozenset(name for name, kind in found if kind in _FLOATS and kind != half)
    made = (v for graph in graphs(model.graph) for node in graph.node for v in node.output)
    return full, frozenset({*made, *(name for name, _ in found)}) - full


def _guessed(
    model: onnx.ModelProto, known: set[str], kinds: dict[str, int]
) -> Iterator[tuple[str, int]]:
    """Types of the values that onnx's inference does not reach: it has no com.microsoft.

    Such an operator computes in the type of the first float that it is given; one of ai.onnx.ml,
    where inference is silent, in f32.
    """
    for graph in graphs(model.graph):
        for node in graph.node:
            found = [kinds[name] for name in node.input if kinds.get(name) in _FLOATS]
            if node.domain == "ai.onnx.ml":
                found = [TensorProto.FLOAT]
            for name in node.output if found else ():
                if name not in known:
                    kinds[name] = found[0]
                    yield name, found[0]


def _types(graph: onnx.GraphProto) -> Iterator[tuple[str, int]]:
    """Values of a graph with the types that it says they have."""
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
