"""ONNX's own inference of types, kept from what it dies of.

It runs in this process: where it reads through a null pointer, so do we.
"""

from __future__ import annotations

import onnx

from .graphs import all_nodes


def inferred(bare: onnx.ModelProto) -> onnx.ModelProto:
    """A model with the types that follow from its nodes, or as it is where a node is at fault.

    `bare` is changed: an EyeLike of an operand without a known shape, of which onnx 1.23 dies, is
    the Cast of its operand, which has its type and shape.
    """
    owners = (bare.graph, *bare.functions)
    for node in all_nodes(node for owner in owners for node in owner.node):
        if node.op_type == "EyeLike" and not node.domain:
            _as_cast(node)
    try:
        return onnx.shape_inference.infer_shapes(bare)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return bare  # the node at fault is named when it is converted


def _as_cast(node: onnx.NodeProto) -> None:
    to = [a.i for a in node.attribute if a.name == "dtype"]
    del node.attribute[:]
    node.op_type = "Cast" if to else "Identity"
    node.attribute.extend(onnx.helper.make_attribute("to", dtype) for dtype in to)
