"""Which constants stay quantised: weights and biases, with nothing but a layout between.

    w = DequantizeLinear(constant); y = MatMul(x, Transpose(w))

Folding would make floats of them, four to eight times the bytes, and hide the integers from the
passes, which decide what kernels take as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto

from .graphs import node_reads
from .values import Array, attributes

#: Operands of an operator that may be quantised weights, or a quantised bias.
_WEIGHTS = {"Conv": (1, 2), "Gemm": (1, 2), "MatMul": (1,)}

#: What may stand between, with the weights as its first operand.
_LAYOUT = ("Identity", "Reshape", "Transpose")

#: Types that TVM's operator takes.
_PLAIN = ("int8", "uint8", "int32")
_PACKED = ("int4", "uint4", "int2", "uint2")


def kept(graph: onnx.GraphProto) -> frozenset[str]:
    """Results of DequantizeLinear that are weights and biases, and nothing else."""
    good: set[str] = set()
    bad = {port.name for port in graph.output}
    for node in reversed(graph.node):  # sorted: who reads a value stands behind it
        roles = () if node.domain else _WEIGHTS.get(node.op_type, ())
        moves = node.op_type in _LAYOUT and not node.domain
        if moves and node.output[0] in good - bad:
            roles = (0,)
        for name in node_reads(node):
            reads = [k for k, given in enumerate(node.input) if given == name]
            (good if len(reads) == 1 and reads[0] in roles else bad).add(name)
    made = {n.output[0] for n in graph.node if n.op_type == "DequantizeLinear" and not n.domain}
    return frozenset(made & good - bad)


def is_kept(node: onnx.NodeProto, operands: Sequence[Array | None]) -> bool:
    """Whether passes take a DequantizeLinear of these constants."""
    data, scale = operands[:2]
    assert data is not None and scale is not None
    given, dtype = attributes(node), str(data.dtype)
    if scale.dtype != np.float32 or given.get("output_dtype", 0) not in (0, TensorProto.FLOAT):
        return False
    if given.get("block_size", 0) or dtype in _PACKED:
        return data.ndim == 2 and dtype in (*_PACKED, "int8", "uint8")
    return data.ndim > 0 and dtype in _PLAIN
