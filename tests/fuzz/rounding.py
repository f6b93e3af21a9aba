"""What else a node's result may be: by rounding, or where ONNX's text says nothing of it.

The judge evaluates a graph several times with these in the place of what one evaluator has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from tests.fuzz import evaluate, unsaid
from tests.fuzz.data import Random
from tests.fuzz.evaluate import Array, Refused, is_float

#: A wrong float is further away than so many times the spread.
FACTOR = 8
#: By what part of the largest result transforms of a 3 x 3 convolution are off: the tolerance of
#: conv2d_nhwc_f32_winograd6, of which the factor is taken away again.
TRANSFORMED = 3e-5 / FACTOR
#: What adds up terms in an order, or from a start, of its own: the sign of a zero is anybody's.
SUMS = {
    "BatchNormalization", "BiasGelu", "Conv", "ConvTranspose", "CumSum", "DFT", "Einsum",
    "FusedConv", "FusedGemm", "FusedMatMul", "Gemm", "GroupNormalization", "InstanceNormalization",
    "LayerNormalization", "MatMul", "Mean", "MeanVarianceNormalization", "ReduceMean", "ReduceSum",
    "SkipLayerNormalization",
}  # fmt: skip
#: What adds up terms in any order: that some order rounds nothing away does not say that all do.
ADDS = SUMS | {
    "AveragePool", "DeformConv", "Det", "GlobalAveragePool", "GlobalLpPool", "GridSample", "LRN",
    "LpPool", "MatMulNBits", "ReduceL1", "ReduceL2", "ReduceSumSquare", "Resize",
    "RMSNormalization", "RoiAlign", "SimplifiedLayerNormalization",
    "SkipSimplifiedLayerNormalization", "Sum", "Upsample",
}  # fmt: skip
#: Trees: an operand decides for a leaf, and what is rounded are sums of these numbers.
LEAVES = {
    "TreeEnsemble": "leaf_weights", "TreeEnsembleClassifier": "class_weights",
    "TreeEnsembleRegressor": "target_weights",
}  # fmt: skip
#: What has no element that is not an operand's: no number overflows in it.
MOVES = set(
    """
    Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity Reshape
    Slice SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze
""".split()
)
#: What computes each element of the elements in its place.
ELEMENTWISE = set(
    """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Cast Ceil Celu Clip Cos Cosh Div Elu Erf Exp
    Floor HardSigmoid HardSwish LeakyRelu Log Max Mean Min Mish Mod Mul Neg PRelu Pow Reciprocal
    Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Tan Tanh
    ThresholdedRelu Where
""".split()
)
#: (random numbers, limits, a result) -> an array of integers like the result.
Pick = Callable[[Random, np.iinfo, Array], Array]
#: Positions of a grid, in halves of the image.
_FAR = 2.0**20
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def is_wide(array: Array) -> bool:
    """Whether f64 cannot hold a sum of these numbers, the largest and the least of them."""
    if not is_float(array.dtype):
        return False
    sizes = np.abs(array.astype(np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return bool(sizes.size) and float(sizes.max()) > 2.0**50 * float(sizes.min())


def is_transformed(node: onnx.NodeProto, values: Mapping[str, Array]) -> bool:
    """Whether a kernel may compute a convolution by Winograd's transforms."""
    kinds = {"Conv": ("strides", "dilations"), "FusedConv": ("strides", "dilations"),
             "ConvTranspose": ("dilations",)}  # fmt: skip
    if node.op_type not in kinds or values[node.input[1]].shape[2:] != (3, 3):
        return False
    steps = [list(a.ints) for a in node.attribute if a.name in kinds[node.op_type]]
    return all(n == 1 for step in steps for n in step)


def outgrows(node: onnx.NodeProto, values: Mapping[str, Array]) -> bool:
    """Whether factors of a product may overflow, in some order, before one of them makes it small.

    A zero that comes first gives 0, and after an infinity it gives NaN.
    """
    data = values[node.input[0]] if node.op_type == "ReduceProd" else np.zeros(0)
    sizes = np.maximum(np.abs(data.astype(np.float64)), 1)
    with np.errstate(all="ignore"):
        return is_float(data.dtype) and bool(sizes.prod() > np.finfo(np.float32).max)


def transformed(shake: Random, data: Array, result: Array) -> Array:
    """A result as transforms may give it: those of an infinity or a NaN are NaN, in whole tiles."""
    if not np.isfinite(data).all():
        return np.full_like(result, np.nan)
    sizes = np.abs(result[np.isfinite(result)])
    reach = TRANSFORMED * float(sizes.max(initial=0))
    return result + reach * shake.bits.uniform(-1, 1, result.shape)


def astray(number: int, node: onnx.NodeProto, values: Mapping[str, Array], result: Array) -> Array:
    """A result as other positions, other roots of unity or a rounded mean give it: not by parts of
    each element, but of the largest. By an odd number elements go where by the even one before they
    do not, all the same way by the first two; by every fourth those that may be nothing are: no
    root is off there."""
    reach = _reach(node, values, result)
    if reach is None or not is_float(result.dtype):
        return result
    way = Random(19, number // 2).bits.uniform(-1 if number > 1 else 0, 1, result.shape)
    moved = result + reach * np.copysign(1, way) * (-1 if number % 2 else 1)
    return np.where((np.abs(result) <= reach) & (number % 4 == 3), 0, moved)


def _reach(
    node: onnx.NodeProto, values: Mapping[str, Array], result: Array
) -> Array | float | None:
    """How far elements may be off whatever size they have; None for what rounds each by itself."""
    if node.op_type in ("DFT", "STFT"):
        return 4 * EPS["float32"] * _peak(result)
    if node.op_type not in ("Resize", "Upsample", "AffineGrid", "MeanVarianceNormalization"):
        return None
    data = values[node.input[0]]
    if node.op_type in ("Resize", "Upsample"):
        return max(data.shape, default=1) * EPS["float32"] * _peak(data)
    if node.op_type == "AffineGrid":  # 2k / n - 1 rounds, also where its terms then cancel
        return 4 * EPS["float32"] * _peak(data)
    axes = next((tuple(a.ints) for a in node.attribute if a.name == "axes"), (0, 2, 3))
    with np.errstate(all="ignore"):
        reach = EPS["float32"] * np.abs(data) / data.std(axes, keepdims=True)
    return np.where(np.isfinite(reach), reach, 0)


def _peak(data: Array) -> float:
    return float(np.abs(data[np.isfinite(data)]).max(initial=0))


def weighed(shake: Random, node: onnx.NodeProto) -> onnx.NodeProto:
    """Trees whose leaves are moved by a few units of their last place."""
    made = onnx.NodeProto()
    made.CopyFrom(node)
    for attr in made.attribute:
        if attr.name == LEAVES[node.op_type]:
            given = onnx.helper.get_attribute_value(attr)
            array = numpy_helper.to_array(given) if attr.HasField("t") else np.array(given, "f4")
            moved = array * (1 + 2 * EPS[array.dtype.name] * shake.bits.uniform(-1, 1, len(array)))
            if attr.HasField("t"):
                attr.t.CopyFrom(numpy_helper.from_array(moved.astype(array.dtype)))
            else:
                attr.floats[:] = moved
    return made


def signed(shake: Random, node: onnx.NodeProto, result: Array) -> Array:
    """A result with zeros of any sign where those are what a sum comes to."""
    if node.op_type not in SUMS or not is_float(result.dtype):
        return result
    signs = np.where(shake.bits.uniform(-1, 1, result.shape) < 0, -0.0, 0.0)
    return np.where(result == 0, signs, result)


def nowhere(node: onnx.NodeProto, values: Mapping[str, Array], result: Array) -> Array:
    """NaN for what the texts say nothing of: samples of a grid at a position that is none, and
    what a query is given that sees no key. An infinity times a root of unity's part that is about
    nothing is an infinity or NaN, whichever the part is."""
    if node.op_type in ("DFT", "STFT"):
        return np.where(np.isfinite(result), result, 0)
    if node.op_type in ("Attention", "MultiHeadAttention") and is_float(result.dtype):
        lost = unsaid.blind(node, values)
        lost = lost.reshape(-1, *[1] * (result.ndim - 1))
        return np.where(lost, np.nan, result) if result.shape[:1] == lost.shape[:1] else result
    if node.op_type != "GridSample":
        return result
    grid = values[node.input[1]].astype(np.float64)
    lost = ~(np.abs(grid) < 1e18).all(axis=-1)  # ONNX Runtime makes integers of 64 bits of them
    given = {a.name: a.s for a in node.attribute}
    if given.get("padding_mode") == b"reflection":  # f32 has no part of a pixel there
        lost |= (np.abs(grid) >= _FAR).any(axis=-1)
    return np.where(lost[:, None], np.nan, result)


def anyhow(
    shake: Random, any_: Pick, node: onnx.NodeProto, opsets: Mapping[str, int],
    values: Mapping[str, Array], result: Array,
) -> Array:  # fmt: skip
    """A result with any number in it where a real number was cut to an integer that it is not.

    ONNX on casts from floating to fixed point: "undefined if OOR". An infinity and NaN are.
    """
    if result.dtype.kind not in "iu":
        return result
    try:
        real = _uncut(node, opsets, values)
        if real is None:
            return result
        real = np.broadcast_to(np.trunc(real), result.shape)
    except ValueError:  # the result is another evaluation's, as none takes operands of these sizes
        return result
    info = np.iinfo(result.dtype)
    fits = (real >= info.min) & (real < float(info.max) + 1)
    return np.where(fits, result, any_(shake, info, result))


def _uncut(
    node: onnx.NodeProto, opsets: Mapping[str, int], values: Mapping[str, Array]
) -> Array | None:
    """What a node cuts to integers, 0 where it is one; None of a node that cuts nothing."""
    given = [values[name] for name in node.input if name]
    with np.errstate(all="ignore"):
        if node.op_type in ("Cast", "CastLike") and is_float(given[0].dtype):
            return given[0].astype(np.float64)
        if node.op_type == "Pow" and is_float(given[1].dtype):
            real = np.power(given[0].astype(np.float64), given[1].astype(np.float64))
            # Past that, whoever computes in f64 has lost bits that x * x has.
            return np.where(np.abs(real) > 2.0**53, np.inf, real)
        if node.op_type == "Pow":  # of integers: only 1 / 0 is no number
            return np.where((given[0] == 0) & (given[1] < 0), np.inf, 0.0)
        if node.op_type == "QuantizeLinear" and is_float(given[0].dtype):
            # It saturates, which says what becomes of infinities, and nothing of NaN.
            scale = given[1].astype(np.float64) if given[1].size == 1 else 1.0
            return np.where(np.isnan(given[0].astype(np.float64) / scale), np.nan, 0.0)
        return evaluate.real(node, opsets, values) if evaluate.is_cut(node, values) else None


def _least(_: Random, info: np.iinfo, result: Array) -> Array:
    return np.full_like(result, info.min)


def _largest(_: Random, info: np.iinfo, result: Array) -> Array:
    return np.full_like(result, info.max)


def _zero(_: Random, info: np.iinfo, result: Array) -> Array:
    return np.zeros_like(result)


def _random(shake: Random, info: np.iinfo, result: Array) -> Array:
    return shake.bits.integers(info.min, info.max, result.shape, result.dtype, endpoint=True)


#: What stands for any integer in each evaluation: what follows from many of them, a mean for one,
#: is as far from what it could be as it gets where all are the least or the largest. All but 0 are
#: 1 when they are divided by themselves.
ANY = (_least, _largest, _random, _zero)


def scales_of(node: onnx.NodeProto) -> str:
    """The operand of which the size of an image is a multiple."""
    place = {"Resize": 2, "Upsample": 1}.get(node.op_type, len(node.input))
    return node.input[place] if place < len(node.input) else ""


def cuts(node: onnx.NodeProto, values: Mapping[str, Array]) -> bool:
    """Whether a node computes real numbers of integers and cuts or rounds them: Resize."""
    if node.op_type not in ("Resize", "Upsample") or values[node.input[0]].dtype.kind not in "iu":
        return False
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return given.get("mode", b"nearest") != b"nearest"


def rounds(node: onnx.NodeProto) -> bool:
    """Whether what `cuts` integers is rounded instead: with antialias."""
    return any(a.name == "antialias" and a.i for a in node.attribute)


def single_axes(
    node: onnx.NodeProto, values: Mapping[str, Array]
) -> Iterator[tuple[onnx.NodeProto, Array]]:
    """A Resize of ``x`` by ``n``, a scale or a size, for each of its axes, the last one first."""
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if given.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        raise Refused("it takes parts of the image", missing=True)
    if given.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise Refused("an axis decides for another", missing=True)
    places = [k for k in (2, 3) if node.input[k : k + 1] and node.input[k] != ""]
    place, numbers = next((k, a) for k in places if (a := values[node.input[k]]).size)
    axes = given.pop("axes", range(len(numbers)))
    rank = values[node.input[0]].ndim
    names = ["x", *[""] * (place - 1), "n"]
    for axis, number in sorted(zip((a % rank for a in axes), numbers, strict=True), reverse=True):
        single = onnx.helper.make_node("Resize", names, ["y"], axes=[axis], **given)
        yield single, np.array([number])
