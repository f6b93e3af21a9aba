"""What ONNX's text leaves open, each with the reason: it has any result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from tests.fuzz.faults import EXACT, LOSSES, REAL, Array, attributes, has_nan

#: Reductions that have no result for no integers.
_OF_SOMETHING = {f"Reduce{kind}" for kind in ("LogSum", "LogSumExp", "Max", "Mean", "Min")}


def undefined(node: onnx.NodeProto, values: Mapping[str, Array]) -> str:
    """Why ONNX says nothing of a node's result for these values; empty where it does."""
    operands = [values[name] for name in node.input if name]
    if operands and operands[0].dtype.kind in "iu":
        if node.op_type in _OF_SOMETHING and not operands[0].size:
            return "no integer is the extreme or the mean of none"
        if node.op_type in {*_OF_SOMETHING, *REAL} and _most(operands[0]) > EXACT:
            return "a real function of integers that no f64 has"
    if node.op_type == "ReduceMean" and not operands[0].size:
        return "ONNX leaves it open what the mean of none is: 0 in ONNX Runtime, else NaN"
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    if {n.op_type for g in graphs for n in g.node} & {*_OF_SOMETHING, *REAL}:
        given = [*operands, *(numpy_helper.to_array(w) for g in graphs for w in g.initializer)]
        if any(array.dtype.kind in "iu" and _most(array) > EXACT for array in given):
            return "a body has a real function, and is given integers that no f64 has"
    if node.op_type == "MaxPool" and len(node.output) > 1 and np.isnan(operands[0]).any():
        return "ONNX does not say which NaN of a window is the largest"
    if node.op_type in ("ScatterElements", "ScatterND", "Scatter"):
        reduction = attributes(node).get("reduction", b"none")
        if reduction in (b"min", b"max") and any(has_nan(array) for array in operands):
            return "whether a NaN among what is scattered is an extreme depends on the order"
    if node.op_type == "NonMaxSuppression" and np.isnan(operands[1]).any():
        return "a score that is NaN has no place among the others"
    if node.op_type == "RoiAlign" and not np.isfinite(operands[0][..., :1, :1]).all():
        return "a sample outside is 0 times the first pixel, or nothing"
    if node.op_type == "GroupQueryAttention" and len(node.input) > 6:
        last, total = (values[name] for name in node.input[5:7])
        if total.max(initial=0) == operands[0].shape[1] and (last + 1 < total).any():
            return "in a prompt, the rows behind a sequence's end are padding"
    if node.op_type in ("DynamicQuantizeLSTM", "DynamicQuantizeMatMul"):
        if not np.isfinite(operands[0]).all():
            return "numbers that are none have no range to be quantised in"
    if node.op_type == "DynamicQuantizeLSTM" and len(node.input) > 4 and node.input[4]:
        if np.unique(values[node.input[4]]).size > 1:
            return "it says not which steps of sequences of several lengths share a range"
    if node.op_type in LOSSES and not operands[1].size:
        if attributes(node).get("reduction", b"mean") == b"mean":
            return "the mean of no losses is 0, as ONNX Runtime has it, or NaN, as of other numbers"
    if node.op_type == "Inverse" and _is_singular(operands[0]):
        return "a singular matrix has no inverse"
    return ""


#: The operand of these that says which keys are padding.
_PADDING = {"Attention": 3, "MultiHeadAttention": 4}


def blind(node: onnx.NodeProto, values: Mapping[str, Array]) -> Array:
    """``[batch]``: whether all keys that a query sees are padding.

    It is told by adding -10000 to their scores, of which three digits are left in f32 then: their
    softmax, which is over nothing else there, is one of roundings.
    """
    batch, index = values[node.input[0]].shape[0], _PADDING.get(node.op_type, len(node.input))
    none, given = np.zeros(batch, bool), attributes(node)
    if node.domain != "com.microsoft" or index >= len(node.input) or not node.input[index]:
        return none
    mask, causal = values[node.input[index]], given.get("unidirectional", 0)
    if abs(given.get("mask_filter_value", -1e4)) < 1e3 or mask.ndim not in (1, 2, 3):
        return none
    if mask.ndim == 1:
        starts = mask[batch:] if mask.size == 2 * batch else np.zeros(batch, np.int32)
        return (mask[:batch] <= starts) | (causal and starts > 0)
    seen = (mask > 0).reshape(len(mask), -1, mask.shape[-1])
    if causal:  # a later query sees more, and this one at least the first key
        return ~seen[..., :1].all(axis=(1, 2))
    return ~seen.any(axis=2).all(axis=1)


def _is_singular(matrices: Array) -> bool:
    """Whether rounding decides on the inverse of a matrix of these."""
    whole = matrices.astype(np.float64)
    if not np.isfinite(whole).all():
        return True
    return bool((np.linalg.cond(whole) > 1e4).any()) if whole.size else False


def _most(array: Array) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0))
