"""Types of a node's results by ONNX's inference, and checks of its operands' types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from tvm_megcc.core.dtypes import of_onnx

from .. import ops
from ..errors import InputError
from .values import label


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


def refuse_types(
    node: onnx.NodeProto, operands: Sequence[onnx.TypeProto], opsets: Mapping[str, int]
) -> None:
    """Raise for an operand of a type that the operator takes in no version of it, or of another
    type than an operand that it has to be like.

    Halves are seen as f32 here, so one float type is as good as another. Storage types are the
    importer's affair: more operators hand them on here than in ONNX.
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    allowed = _allowed(node.op_type, domain)
    for k, kind in enumerate(operands[: None if allowed else 0]):
        types = allowed[min(k, len(allowed) - 1)]
        elem = kind.tensor_type.elem_type
        row = of_onnx(elem)
        if not types or row is None or row.is_storage or elem in types:
            continue
        if elem == _FLOAT and types & _HALVES:
            continue
        names = [onnx.TensorProto.DataType.Name(t).lower() for t in (elem, *sorted(types))]
        raise InputError(
            f"{label(node)}: its input {k} is {names[0]} and may be {', '.join(names[1:])};"
            " correct the model"
        )
    if domain == "com.microsoft":
        _refuse_flags(node, operands)
    for group in _alike(node.op_type, domain, opsets.get(node.domain, 1), len(operands)):
        _refuse_others(node, operands, group)


def _refuse_others(
    node: onnx.NodeProto, operands: Sequence[onnx.TypeProto], group: Sequence[int]
) -> None:
    """Raise where two operands of a group have types that are not the same."""
    given = [(k, operands[k].tensor_type.elem_type) for k in group if k < len(operands)]
    given = [(k, _FLOAT if elem in _HALVES else elem) for k, elem in given if elem]
    for k, elem in given[1:]:
        first, wanted = given[0]
        if elem != wanted:
            name, other = (onnx.TensorProto.DataType.Name(t).lower() for t in (elem, wanted))
            raise InputError(
                f"{label(node)}: its input {k} is {name} and its input {first} {other}, where they"
                " have one type; correct the model"
            )


def _refuse_flags(node: onnx.NodeProto, operands: Sequence[onnx.TypeProto]) -> None:
    """Raise for a bool in the place of a number, which TVM takes; there are no schemas here."""
    op = ops.find("com.microsoft", node.op_type)
    for k, kind in enumerate(operands):
        is_flag = op is not None and k in op.flags
        if not is_flag and kind.tensor_type.elem_type == onnx.TensorProto.BOOL:
            raise InputError(
                f"{label(node)}: its input {k} is bool and may be a number; correct the model"
            )


_FLOAT = onnx.TensorProto.FLOAT
_HALVES = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}


@cache
def _allowed(op: str, domain: str) -> list[set[int]]:
    """The element types of each operand in any version; an empty set is any type."""
    found: list[set[int]] = []
    for schema in _versions().get((domain, op), []):
        for k, formal in enumerate(schema.inputs):
            found[k:] = found[k:] or [set()]
            found[k] |= {
                onnx.TensorProto.DataType.Value(text[len("tensor(") : -1].upper())
                for text in formal.types
                if text.startswith("tensor(")
            }
    return found


@cache
def _alike(op: str, domain: str, opset: int, count: int) -> Sequence[Sequence[int]]:
    """Groups of operands that must have one type."""
    if domain == "com.microsoft":
        own = ops.find(domain, op)
        return own.alike if own is not None else ()
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return ()
    named = {constraint.type_param_str for constraint in schema.type_constraints}
    groups: dict[str, list[int]] = {}
    for k in range(count if schema.inputs else 0):
        formal = schema.inputs[min(k, len(schema.inputs) - 1)]
        if formal.type_str in named and (k < len(schema.inputs) or formal.is_homogeneous):
            groups.setdefault(formal.type_str, []).append(k)
    return [group for group in groups.values() if len(group) > 1]


@cache
def _versions() -> dict[tuple[str, str], list[onnx.defs.OpSchema]]:
    """The schemas of an operator in all versions, by domain and name."""
    found: dict[tuple[str, str], list[onnx.defs.OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


def breaks_a_rule(
    node: onnx.NodeProto, operands: Sequence[onnx.TypeProto], opsets: Mapping[str, int]
) -> bool:
    """Whether no implementation could run the node with these operands."""
    try:
        result_types(node, operands, opsets)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return True
    except Exception:  # whatever onnx's own code fails with where an attribute is odd
        return False
    return False
