"""ONNX's inference of types, without the nodes at which it crashes.

It runs in this process: where it reads through a null pointer, so do we.
"""

from __future__ import annotations

import onnx

from .graphs import all_nodes

#: (domain, operator) of which onnx 1.23 dies where its operand has no type or no shape.
_DEADLY = {
    ("", "EyeLike"),
    ("", "RegexFullMatch"),
    ("ai.onnx.ml", "DictVectorizer"),
    ("ai.onnx.ml", "LabelEncoder"),
    ("ai.onnx.ml", "TreeEnsemble"),
}
_VALUES = {
    "values_floats": onnx.TensorProto.FLOAT,
    "values_int64s": onnx.TensorProto.INT64,
    "values_strings": onnx.TensorProto.STRING,
}


def inferred(bare: onnx.ModelProto) -> onnx.ModelProto:
    """Add the types that follow from a model's nodes; unchanged where a node is at fault.

    `bare` is changed: a node of `_DEADLY` is the Cast of its operand, which has its type. Dims are
    not to be read from this: those of an ensemble of trees are others.
    """
    owners = (bare.graph, *bare.functions)
    for node in all_nodes(node for owner in owners for node in owner.node):
        if (node.domain, node.op_type) in _DEADLY:
            _as_cast(node)
    try:
        return onnx.shape_inference.infer_shapes(bare)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return bare  # the node at fault is named when it is converted


def _as_cast(node: onnx.NodeProto) -> None:
    to = [found for attr in node.attribute if (found := _result_type(attr)) is not None]
    del node.attribute[:]
    node.op_type, node.domain = ("Cast" if to else "Identity"), ""
    node.attribute.extend(onnx.helper.make_attribute("to", dtype) for dtype in to[:1])


def _result_type(attr: onnx.AttributeProto) -> int | None:
    """The result's type, where this attribute gives it."""
    if attr.name == "dtype":
        return attr.i
    return attr.t.data_type if attr.name == "values_tensor" else _VALUES.get(attr.name)
