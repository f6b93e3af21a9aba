"""Evaluate a node whose operands are all known, with onnx's own reference implementation.

A node that would cost too much, or whose result would bloat the package, is left for the
converters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from .. import ops
from ..ops.common import stock
from ..shapes.arithmetic import MAX_GENERATED
from . import mapped
from .rules import result_types
from .values import attributes, type_of

Array = npt.NDArray[Any]

#: Elements that the operands of a slow reference implementation may have together.
MAX_SLOW = 1 << 15

#: Elements that a result may have that is larger than all its operands together.
MAX_FOLDED = 1 << 24

#: Elements of an operand that may be a shape, for ONNX's shape inference.
MAX_SHAPE = 64


def fold(
    node: onnx.NodeProto,
    operands: Sequence[Array | None],
    opsets: Mapping[str, int],
    *,
    bounded: bool = True,
) -> list[Array] | None:
    """The node's results, or None where it is not to be folded or cannot be.

    Without `bounded` it may take long, and have results that no package is to hold.
    """
    held = _held(node)
    if held is not None:
        return [held]
    if node.domain not in ("", "ai.onnx.ml") or _has_graph(node) or _is_random(node, opsets):
        return None
    is_right = not node.domain and node.op_type in _RIGHT
    if not is_right and (_is_converted(node) or _is_function(node, opsets)):
        return None
    if _is_misread(node, operands, opsets):
        return None
    if bounded and _is_slow(node) and sum(a.size for a in operands if a is not None) > MAX_SLOW:
        return None
    op = ops.find(node.domain, node.op_type)
    types = _inferred(node, operands, opsets)
    if bounded and _excess(types, operands):
        return None
    try:
        if bounded and op is not None and op.generated(operands) > MAX_GENERATED:
            return None
        results = _evaluate(node, operands, opsets)
    except Exception:  # whatever onnx.reference cannot do is the converters' affair
        return None
    arrays, first = [], next((a.dtype for a in operands if a is not None), None)
    for name, result in zip(node.output, results, strict=True):
        if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.kind in "OUS":
            return None
        array = np.ascontiguousarray(result).reshape(np.shape(result))
        # By ONNX's rules; numpy's sum of int32, in the reference, is int64.
        elem = types[name].elem_type if name in types else 0
        if not elem and array.dtype != first and _is_converted(node):
            return None  # of types that ONNX does not list; numpy's sum of u8 is u64
        dtype = helper.tensor_dtype_to_np_dtype(elem) if elem else array.dtype
        arrays.append(array.astype(dtype, copy=False))
    return arrays


def _held(node: onnx.NodeProto) -> Array | None:
    """The value of a Constant that is a tensor, which the reference would copy several times."""
    if node.op_type != "Constant" or node.domain or [a.name for a in node.attribute] != ["value"]:
        return None
    tensor = node.attribute[0].t
    return None if tensor.data_type == tensor.STRING else mapped.to_array(tensor)


def _has_graph(node: onnx.NodeProto) -> bool:
    """Whether it is a branch or loop, which the importer converts."""
    return any(a.type in (a.GRAPH, a.GRAPHS) for a in node.attribute)


def _is_random(node: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
    op = ops.find(node.domain, node.op_type)
    if op is not None:
        return op.random
    schema = _schema(node, opsets)
    return schema is not None and bool(
        schema.node_determinism == schema.NodeDeterminism.NonDeterministic
    )


def _is_converted(node: onnx.NodeProto) -> bool:
    found = ops.find(node.domain, node.op_type)
    return found is not None or stock.has(node.domain, node.op_type)


def _is_function(node: onnx.NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether ONNX defines it by simpler operators."""
    schema = _schema(node, opsets)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def _schema(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Any:
    """None where ONNX has no such operator; onnx's stubs lack what a schema says of itself."""
    try:
        return onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return None


def _is_misread(
    node: onnx.NodeProto, operands: Sequence[Array | None], opsets: Mapping[str, int]
) -> bool:
    """Whether onnx.reference computes something other than ONNX defines."""
    rule = _MISREAD.get(node.op_type)
    try:
        return rule is not None and rule(attributes(node), operands, opsets.get("", 1))
    except Exception:  # an axis that there is not, text for numbers: the converter says so
        return True


_Rule = Callable[[Mapping[str, Any], Sequence[Array | None], int], bool]


def _takes_one_axis(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """Until opset 12 the axes from `axis` on were one; the reference takes `axis` alone."""
    rank = 0 if operands[0] is None else operands[0].ndim
    return v < 13 and bool(given.get("axis", 1) % max(rank, 1) != rank - 1)


def _is_kind(index: int, kinds: str) -> _Rule:
    def rule(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
        operand = operands[index]
        return operand is not None and operand.dtype.kind in kinds

    return rule


def _has_nan(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """NumPy's extreme of a NaN is NaN, or the NaN's place."""
    return any(a is not None and a.dtype.kind in "fV" and bool((a != a).any()) for a in operands)


def _has_real_numbers(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """Of real indices and depths it makes no integers; and it adds `on - off` to `off`, which is
    `on` only without rounding and infinities."""
    return any(a is not None and a.dtype.kind in "fV" for a in operands)


def _is_endless(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """NumPy has a first element also where the step is infinite."""
    return any(a is not None and a.dtype.kind == "f" and not np.isfinite(a).all() for a in operands)


def _has_unsorted_axes(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """It inserts one axis after the other, where each number is of the result's axes.

    Of two from the end the first is counted before the second axis is there.
    """
    axes = _numbers(given, operands, "axes", 1)
    return axes != sorted(axes) or (v < 13 and len(axes) > 1 and min(axes) < 0)


def _crops(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """NumPy refuses negative widths."""
    return min(_numbers(given, operands, "pads", 1), default=0) < 0


def _starts_before(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """Going back, a start before the first element is the first one; NumPy's is before it."""
    data, steps = operands[0], _numbers(given, operands, "steps", 4)
    if data is None or min(steps, default=1) > 0:
        return False
    starts = _numbers(given, operands, "starts", 1)
    axes = _numbers(given, operands, "axes", 3) or range(len(starts))
    rows = zip(starts, axes, steps, strict=True)
    return any(step < 0 and start < -data.shape[axis] for start, axis, step in rows)


def _is_beyond(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """Positions that are not there it counts back by one length after the other."""
    data, indices = operands
    if data is None or indices is None:
        return True
    size = data.shape[given.get("axis", 0)]
    return bool(((indices < -size) | (indices >= size)).any())


def _is_cut(given: Mapping[str, Any], operands: Sequence[Array | None], v: int) -> bool:
    """Limits beyond the rank are the ends; it counts them from the other end once more."""
    return "start" in given or "end" in given


def _numbers(
    given: Mapping[str, Any], operands: Sequence[Array | None], name: str, index: int
) -> list[int]:
    """Numbers that are an attribute in old opsets and an operand in new ones."""
    told = operands[index] if len(operands) > index else None
    numbers: list[int] = [*given.get(name, ())] if told is None else told.reshape(-1).tolist()
    return numbers


#: What it computes as ONNX and ONNX Runtime do, but by the rules below: shape arithmetic, and what
#: exporters leave of weights. Where there is a converter every other operator is left to it, as
#: the reference (onnx 1.23) has ties, windows, probabilities and samples of its own.
_RIGHT = frozenset(
    """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd
    BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu Clip Compress Concat
    Constant ConstantOfShape Cos Cosh CumProd CumSum DepthToSpace DequantizeLinear Div Einsum Elu
    Equal Erf Exp Expand EyeLike Flatten Floor Gather GatherElements GatherND Gemm Greater
    GreaterOrEqual HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity IsInf IsNaN
    LeakyRelu Less LessOrEqual Log MatMul Max Mean Min Mish Mod Mul Neg NonZero Not OneHot Or PRelu
    Pad Pow QuantizeLinear Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Scatter
    ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus
    Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose
    Trilu Unique Unsqueeze Where Xor
""".split()
)

#: Operators of those, and for which attributes, operands and opset the reference is wrong.
_MISREAD: dict[str, _Rule] = {
    **dict.fromkeys(("Hardmax", "Softmax"), _takes_one_axis),
    **dict.fromkeys(("ArgMax", "ArgMin", "Max", "Min", "ReduceMax", "ReduceMin", "TopK"), _has_nan),
    "GatherElements": _is_beyond,
    "Unsqueeze": _has_unsorted_axes,
    "Pad": _crops,
    "Slice": _starts_before,
    "Shape": _is_cut,
    # It rounds to f32.
    "Erf": lambda given, operands, v: operands[0] is not None and operands[0].dtype.itemsize == 8,
    "OneHot": _has_real_numbers,
    # It makes 32-bit integers of quotients before it saturates.
    "QuantizeLinear": lambda given, operands, v: not _fits_int32(operands[0], operands[1]),
    "Range": _is_endless,
    # It squares integers in their own type, whose limits the norm may well be within.
    "ReduceL2": _is_kind(0, "iu"),
    # It takes the elements of an unsorted result along axis 0, and a result alone is sorted.
    "Unique": lambda given, operands, v: not given.get("sorted", 1),
}


def _fits_int32(data: Array | None, scale: Array | None) -> bool:
    if data is None or scale is None or not data.size:
        return True
    with np.errstate(all="ignore"):
        largest = np.abs(data.astype(np.float64)).max() / np.abs(scale.astype(np.float64)).min()
    return bool(largest < 2.0**31 - 2**16)


def _is_slow(node: onnx.NodeProto) -> bool:
    """Also an operator that nobody converts: nothing is known of it."""
    op = ops.find(node.domain, node.op_type)
    return not _is_converted(node) if op is None else op.slow


def _inferred(
    node: onnx.NodeProto, operands: Sequence[Array | None], opsets: Mapping[str, int]
) -> dict[str, onnx.TypeProto.Tensor]:
    """The results' types and dims, as far as ONNX's rules tell them; nothing is computed."""
    arrays = [None if a is None else np.asarray(a) for a in operands]
    shapes = [a if a is not None and a.size <= MAX_SHAPE else None for a in arrays]
    try:
        found = result_types(node, [type_of(a, None, {}) for a in arrays], opsets, shapes)
    except Exception:  # the node's own evaluation, or a converter, says what is wrong
        return {}
    return {name: kind.tensor_type for name, kind in found.items()}


def grows_to(
    node: onnx.NodeProto, operands: Sequence[Array | None], opsets: Mapping[str, int]
) -> int:
    """Elements of the largest result if it exceeds the limit and all operands together; else 0."""
    return _excess(_inferred(node, operands, opsets), operands)


def _excess(types: Mapping[str, onnx.TypeProto.Tensor], operands: Sequence[Array | None]) -> int:
    given = sum({id(a): a.size for a in operands if a is not None}.values())
    largest = max((prod(d.dim_value for d in k.shape.dim) for k in types.values()), default=0)
    return largest if largest > max(MAX_FOLDED, given) else 0


def _evaluate(
    node: onnx.NodeProto, operands: Sequence[Array | None], opsets: Mapping[str, int]
) -> list[Any]:
    # Operands get names of their own: a model may use one name for two of them, or odd ones.
    single = onnx.NodeProto()
    single.CopyFrom(node)
    feeds = {f"i{k}": a for k, a in enumerate(operands) if a is not None}
    del single.input[:]
    single.input.extend(f"i{k}" if a is not None else "" for k, a in enumerate(operands))
    wanted = [name for name in node.output if name]
    graph = helper.make_graph(
        [single],
        "fold",
        [helper.make_value_info(name, onnx.TypeProto()) for name in feeds],
        [helper.make_value_info(name, onnx.TypeProto()) for name in wanted],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=imports))
    with np.errstate(all="ignore"):
        results = dict(zip(wanted, evaluator.run(None, feeds), strict=True))
    return [results[name] if name else np.empty(0) for name in node.output]
