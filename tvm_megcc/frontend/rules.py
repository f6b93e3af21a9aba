"""What ONNX's own inference says of a node: the types of its results, or that it breaks a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper


def result_types(
    node: onnx.NodeProto,
    operands: Sequence[onnx.TypeProto],
    opsets: Mapping[str, int],
    known: Sequence[npt.NDArray[Any] | None] = (),
) -> dict[str, onnx.TypeProto]:
    """The types of the results by name, as far as the operands' types and values say them.

    Raises
    ------
    onnx.shape_inference.InferenceError, onnx.checker.ValidationError
        The node breaks a rule of its operator.
    """
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return {}
    types = {name: kind for name, kind in zip(node.input, operands, strict=False) if name}
    values = {
        name: numpy_helper.from_array(array)
        for name, array in zip(node.input, known, strict=False)
        if name and array is not None
    }
    imports = [helper.make_opsetid(*entry) for entry in opsets.items()]
    try:
        return dict(
            onnx.shape_inference.infer_node_outputs(
                schema, node, types, values, opset_imports=imports
            )
        )
    except (ValueError, KeyError):  # operands without a type
        return {}


def breaks_a_rule(
    node: onnx.NodeProto, operands: Sequence[onnx.TypeProto], opsets: Mapping[str, int]
) -> bool:
    """Whether no implementation could run the node with these operands."""
    try:
        result_types(node, operands, opsets)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return True
    return False
