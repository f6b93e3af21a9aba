"""The names of a model's f16 or bf16 values, by the types of `kinds`.

Enters: a ``ModelProto``. Leaves: the names of what is another float, and of all the rest, if it has
the type at all.
"""

from __future__ import annotations

import onnx
from onnx import TensorProto

from . import kinds
from .graphs import graphs


def names_by_type(
    model: onnx.ModelProto, half: int = TensorProto.FLOAT16
) -> tuple[frozenset[str], frozenset[str]] | None:
    """Names of values of other float types, and of all others; None where none is `half`."""
    if half not in (kind for _, kind in kinds.declared(model)):
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
    found = kinds.found(model, bare)
    full = frozenset(name for name, kind in found if kind in kinds.FLOATS and kind != half)
    made = (v for graph in graphs(model.graph) for node in graph.node for v in node.output)
    return full, frozenset({*made, *(name for name, _ in found)}) - full
