"""Where an evaluator contradicts ONNX's text, and what the text leaves open; each with the reason.

A node with which ONNX Runtime or `onnx.reference` is wrong is one that it does not evaluate. What
is undefined has any result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

Array = np.ndarray

#: Reductions that have no result for no integers.
_OF_SOMETHING = {f"Reduce{kind}" for kind in ("LogSum", "LogSumExp", "Max", "Mean", "Min")}

#: Functions of reals, which ONNX has for integers before opset 28: theirs is cut to an integer.
REAL = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")

#: No f64 tells integers beyond this apart.
_EXACT = 2.0**53


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def of_ort(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> str:
    """Why ONNX Runtime's answer is none; empty where it is one."""
    if node.op_type == "NonZero" and not arrays[node.input[0]].ndim:
        return "of a scalar it gives a row, and ONNX says that there is none: [0, N]"
    if node.op_type == "Scan" and any(0 in arrays[name].shape for name in node.input if name):
        return "it divides by zero in a Scan of no rows"
    if node.op_type == "ReduceLogSumExp" and arrays[node.input[0]].dtype.kind in "iu":
        return "it cuts every exponential to an integer, not the result"
    if node.op_type == "Resize" and arrays[node.input[0]].dtype == np.int8:
        if _attributes(node).get("antialias", 0):
            return "it looks up what an unsigned byte is limited to, also for signed ones"
    if node.op_type == "ConvTranspose":
        given = _attributes(node)
        kernel = arrays[node.input[1]].shape[2:]
        strides = given.get("strides", [1] * len(kernel))
        reach = zip(kernel, given.get("dilations", [1] * len(kernel)), strides, strict=True)
        if b"SAME" in given.get("auto_pad", b"") and any((k - 1) * d + 1 < s for k, d, s in reach):
            return "ONNX says that a SAME result has input * stride elements; it has fewer"
    return ""


def of_reference(
    node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Mapping[str, Array]
) -> str:
    """Why the answer of `onnx.reference` is none; empty where it is one."""
    given = _attributes(node)
    if node.op_type in ("Hardmax", "Softmax", "LogSoftmax") and opsets[""] < 13:
        rank = arrays[node.input[0]].ndim
        if given.get("axis", 1) % max(rank, 1) != rank - 1:
            return "before opset 13 the axes from `axis` on are one, and it takes one only"
    if node.op_type == "BatchNormalization" and opsets[""] < 14:
        return "it moves the running statistics towards the operand's own before it uses them"
    if node.op_type == "Pad" and min(_widths(node, arrays, given), default=0) < 0:
        return "negative widths crop, which NumPy's padding does not"
    if node.op_type == "QuantizeLinear" and _is_far(node, arrays):
        return "it makes 32-bit integers before it saturates"
    if node.op_type == "Unique" and not given.get("sorted", 1):
        if given.get("axis", -1) != 0 or len(node.output) == 1:
            return "it takes the unsorted elements along axis 0, whatever the axis"
    return ""


def _widths(
    node: onnx.NodeProto, arrays: Mapping[str, Array], given: Mapping[str, Any]
) -> Sequence[int]:
    """What a Pad adds to each side of each axis."""
    if len(node.input) > 1:
        return [int(width) for width in arrays[node.input[1]].reshape(-1)]
    return given.get("pads", ())


def _is_far(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether a quotient of a QuantizeLinear is an infinity, or beyond 32 bits."""
    x, scale = (arrays[name].astype(np.float64) for name in node.input[:2])
    least = np.abs(scale).min(initial=np.inf)
    with np.errstate(all="ignore"):
        return bool((np.abs(x) / least >= 2.0**31 - 2**16).any())


def undefined(node: onnx.NodeProto, values: Mapping[str, Array]) -> str:
    """Why ONNX says nothing of a node's result for these values; empty where it does."""
    operands = [values[name] for name in node.input if name]
    if operands and operands[0].dtype.kind in "iu":
        if node.op_type in _OF_SOMETHING and not operands[0].size:
            return "no integer is the extreme or the mean of none"
        if node.op_type in {*_OF_SOMETHING, *REAL} and _most(operands[0]) > _EXACT:
            return "a real function of integers that no f64 has"
    if node.op_type == "MaxPool" and len(node.output) > 1 and np.isnan(operands[0]).any():
        return "ONNX does not say whether NaN is the largest of a window, nor where that stands"
    return ""


def _most(array: Array) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0))
