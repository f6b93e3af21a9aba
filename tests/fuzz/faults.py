"""Where an evaluator contradicts ONNX's text, each with the reason.

A node with which ONNX Runtime or `onnx.reference` is wrong is one that it does not evaluate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.fuzz.grouped_queries import is_chunk_of_batch, is_long
from tvm_megcc.core.this_machine import host_arch

Array = np.ndarray

#: Functions of reals, which ONNX has for integers before opset 28: theirs is cut to an integer.
REAL = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")

_POOLS = ("AveragePool", "LpPool", "MaxPool")
_INTEGER_PRODUCTS = (
    "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat", "QGemm", "QLinearMatMul",
)  # fmt: skip
_LAYERS = ("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
LOSSES = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")

#: Elements of a sequence, samples of a region, that nobody waits for.
_LONG = 1 << 16

#: No f64 tells integers beyond this apart.
EXACT = 2.0**53


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def of_ort(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> str:
    """Why ONNX Runtime's answer is none; empty where it is one."""
    if node.op_type == "NonZero" and not arrays[node.input[0]].ndim:
        return "of a scalar it gives a row, and ONNX says that there is none: [0, N]"
    if node.op_type == "Scan" and any(0 in arrays[name].shape for name in node.input if name):
        return "it divides by zero in a Scan of no rows"
    if node.op_type == "ReduceLogSumExp" and arrays[node.input[0]].dtype.kind in "iu":
        return "it cuts every exponential to an integer, not the result"
    if node.op_type in _LAYERS and _has_no_step(node, arrays):
        return "of no steps it gives 0 or what was in its memory as states; GRU aborts the process"
    if node.op_type == "Unique" and has_nan(arrays[node.input[0]]):
        return "it finds NaN equal to whatever it compares it with"
    if node.op_type == "LRN" and not np.isfinite(arrays[node.input[0]]).all():
        return "it slides a sum over the channels, in which NaN and infinity stay"
    if node.op_type == "RotaryEmbedding" and _has_odd_heads(node, arrays):
        return "it leaves the last element of a head as it is in its memory"
    if is_long(node, arrays):
        return "the present would have gigabytes"
    if is_chunk_of_batch(node, arrays):
        return "of several sequences it takes one row each behind a past"
    if node.op_type == "Normalizer" and _wraps(node, arrays[node.input[0]]):
        return "it squares integers in their own type"
    if node.op_type == "MaxUnpool" and _is_larger(node, arrays):
        return "it takes an index for a place of the result, and not of what was pooled"
    if node.op_type in _INTEGER_PRODUCTS and 0 in arrays[node.input[0]].shape:
        return "it has what was in its memory for products of no terms"
    if node.op_type in (*_INTEGER_PRODUCTS, "DynamicQuantizeLSTM") and _saturates(node, arrays):
        return "on x86 without VNNI it adds two products of bytes in 16 bits, which saturate"
    if node.op_type == "Resize" and arrays[node.input[0]].dtype == np.int8:
        if attributes(node).get("antialias", 0):
            return "it looks up what an unsigned byte is limited to, also for signed ones"
    if node.op_type in (*_BOUNDS, "Pow") and _outgrows(node, arrays):
        return (
            "it computes integers in real numbers, or limits them, where they keep their low bits"
        )
    if any(n.op_type in (*_BOUNDS, "Pow") and _is_given_much(n, arrays) for n in _inner(node)):
        return "in a body, it limits integers that keep their low bits"
    return ""


def _saturates(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether signed weights are so large that two products with a byte may pass 16 bits."""
    weights = [x for name in node.input[1:] if (x := arrays.get(name)) is not None]
    signed = [np.abs(x.astype(np.int32)).max(initial=0) for x in weights if x.dtype == np.int8]
    most = np.iinfo(np.int16).max // (2 * np.iinfo(np.uint8).max)
    host = host_arch()
    return host.startswith("x86") and "vnni" not in host and max(signed, default=0) > most


def _inner(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """The nodes of its bodies, and of theirs."""
    for attr in node.attribute:
        for inner in attr.g.node:
            yield inner
            yield from _inner(inner)


def _is_given_much(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether it reads integers from outside of its body whose sum may not fit."""
    rows = [arrays[name] for name in node.input if name in arrays]
    return any(
        x.dtype.kind in "iu" and np.abs(x.astype(np.float64)).sum() > np.iinfo(x.dtype).max
        for x in rows
    )


#: Reductions of integers to integers -> no smaller a number than any part of the result.
_BOUNDS = {
    "ReduceL1": lambda x: x.sum(),
    "ReduceProd": lambda x: np.maximum(x, 1).prod(),
    "ReduceSum": lambda x: x.sum(),
    "ReduceSumSquare": lambda x: (x**2).sum(),
}


def _outgrows(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether a reduction or a power of integers may not fit, or may be one that no f64 has."""
    x, *more = (arrays[name] for name in node.input if name)
    if x.dtype.kind not in "iu":
        return False
    sizes = np.abs(x.astype(np.float64))
    with np.errstate(all="ignore"):
        if node.op_type != "Pow":
            most = _BOUNDS[node.op_type](sizes)
        elif more[0].dtype.kind in "iu":
            try:
                powers = sizes ** more[0].astype(np.float64)
            except ValueError:  # shapes that do not go together
                return False
            most = powers.max(initial=0)
        else:
            return False
    return float(most) > min(EXACT, float(np.iinfo(x.dtype).max))


def of_answer(
    node: onnx.NodeProto,
    model: onnx.ModelProto,
    arrays: Mapping[str, Array],
    answer: Sequence[Array],
) -> str:
    """Why this answer of ONNX Runtime to the node's `model` is none; empty where it is one."""
    if answer and _is_copy(node, arrays, answer[0]):
        return "it leaves axes of which the region is not the whole as they are"
    if answer and _is_no_window(node, arrays, answer[0]):
        return "it has a window of an image that is shorter"
    if answer and _is_no_label(node, answer[0]):
        return "it numbers two classes, whatever they are called"
    if node.op_type in _LAYERS and b"Softplus" in attributes(node).get("activations", ()):
        if not all(np.isfinite(array).all() for array in answer):
            return "its Softplus is the logarithm of an exponential that overflows"
    if answer and _has_no_base(node, answer[0]):
        return "it adds no base value where no leaf is of a target, unless there is one target"
    if node.op_type == "Loop" and _is_guessed(model, answer):
        return "it takes unknown axes and sizes of what a loop never made for 0"
    return ""


def _is_guessed(model: onnx.ModelProto, results: Sequence[Array]) -> bool:
    """Whether a loop's output has no rows, and nobody knows of how many axes or of what sizes."""
    ports = onnx.shape_inference.infer_shapes(model, data_prop=True).graph.output
    for port, result in zip(ports, results, strict=True):
        dims = port.type.tensor_type.shape.dim
        known = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims[1:]]
        if result.shape[:1] == (0,) and (not dims or known != [*result.shape[1:]]):
            return True
    return False


def _is_copy(node: onnx.NodeProto, arrays: Mapping[str, Array], result: Array) -> bool:
    """Whether ONNX Runtime has left what is to be cropped as it is: an axis whose dim stays."""
    given = attributes(node)
    mode = given.get("coordinate_transformation_mode", b"")
    if node.op_type != "Resize" or mode != b"tf_crop_and_resize":
        return False
    dims = arrays[node.input[0]].shape
    axes = [a % len(dims) for a in given.get("axes", range(len(dims)))]
    starts, ends = np.split(arrays[node.input[1]], 2)
    return any(
        dims[a] == result.shape[a] and (start, end) != (0, 1)
        for a, start, end in zip(axes, starts, ends, strict=True)
    )


def _is_no_window(node: onnx.NodeProto, arrays: Mapping[str, Array], result: Array) -> bool:
    """Whether ONNX Runtime has a window where the image, padded, is shorter than one.

    It divides what is missing by the stride, which gives 0 and one window; ONNX rounds down.
    """
    if re.sub("^(QLinear|Nhwc)", "", node.op_type) not in _POOLS:
        return False
    given, data = attributes(node), arrays[node.input[0]]
    if data.ndim < 3:
        return False
    first = 1 if given.get("channels_last", 0) or node.op_type == "NhwcMaxPool" else 2
    sizes, found = (a.shape[first : data.ndim + first - 2] for a in (data, result))
    has_one = any(m and room < 0 for m, (room, _) in zip(found, _rooms(given, sizes), strict=False))
    return has_one and not _is_same(node) and not given.get("ceil_mode", 0)


def _rooms(given: Mapping[str, Any], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """For each axis what the first window leaves of the padded image, and the stride."""
    kernel, ones = given["kernel_shape"], [1] * len(given["kernel_shape"])
    strides, dilations = given.get("strides", ones), given.get("dilations", ones)
    pads = given.get("pads", [0, 0] * len(kernel))
    rows = zip(sizes, kernel, strides, dilations, pads, pads[len(kernel) :], strict=False)
    return [(n + low + high - (k - 1) * d - 1, s) for n, k, s, d, low, high in rows]


def _is_no_label(node: onnx.NodeProto, labels: Array) -> bool:
    """Whether ONNX Runtime has 0 or 1 for one of two classes, whatever they are called."""
    known = attributes(node).get("classlabels_int64s") or labels
    return node.op_type == "TreeEnsembleClassifier" and not np.isin(labels, known).all()


def _has_no_base(node: onnx.NodeProto, totals: Array) -> bool:
    """Whether ONNX Runtime has 0 for an extreme of no leaves that has a base value."""
    given = attributes(node)
    if node.op_type != "TreeEnsembleRegressor":
        return False
    if given.get("aggregate_function") not in (b"MIN", b"MAX") or "base_values" not in given:
        return False
    return bool(((totals == 0) & (np.array(given["base_values"]) != 0)).any())


def _has_odd_heads(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    given, shape = attributes(node), arrays[node.input[0]].shape
    if given.get("rotary_embedding_dim", 0):
        return False
    return bool((shape[-1] // (1 if len(shape) == 4 else given.get("num_heads", 0) or 1)) % 2)


def _wraps(node: onnx.NodeProto, x: Array) -> bool:
    """Whether squares of a Normalizer's integers add up to what their type does not hold."""
    if x.dtype.kind not in "iu" or attributes(node).get("norm") != b"L2":
        return False
    sums = (x.astype(np.float64) ** 2).sum(-1)
    return float(sums.max(initial=0)) >= np.iinfo(x.dtype).max


def _is_larger(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether a MaxUnpool's output shape is not that of the tensor that was pooled."""
    if len(node.input) < 3 or not node.input[2]:
        return False
    given, places = attributes(node), arrays[node.input[0]].shape[2:]
    ones = [1] * len(places)
    steps, pads = given.get("strides", ones), given.get("pads", [0] * 2 * len(places))
    widths = [a + b for a, b in zip(pads, pads[len(places) :], strict=False)]
    whole = [
        (count - 1) * step + size - width
        for count, step, size, width in zip(
            places, steps, given["kernel_shape"], widths, strict=True
        )
    ]
    return arrays[node.input[2]].tolist()[2:] != whole


def for_ort(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> onnx.NodeProto:
    """The node as ONNX Runtime takes it as it is meant.

    ONNX says that a SAME ConvTranspose has input * stride elements; ONNX Runtime gives fewer where
    the kernel reaches no further, unless their number is given. A SAME pool it pads as if the
    window had no dilations.
    """
    node = _padded(_counted_from_the_start(node, arrays), arrays)
    given = attributes(node)
    if node.op_type != "ConvTranspose" or "output_shape" in given or not _is_short(node, arrays):
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    dims = arrays[node.input[0]].shape[2:]
    strides = given.get("strides", [1] * len(dims))
    sizes = [size * stride for size, stride in zip(dims, strides, strict=True)]
    made.attribute.append(helper.make_attribute("output_shape", sizes))
    return made


def _padded(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> onnx.NodeProto:
    """A SAME pool with dilations, or steps past its windows, padded as ONNX says, in numbers; one
    that is VALID by no numbers."""
    given = attributes(node)
    if node.op_type in _POOLS and given.get("auto_pad") == b"VALID":
        kept = {name: value for name, value in given.items() if name != "auto_pad"}
        return helper.make_node(
            node.op_type, node.input, node.output, node.name, domain=node.domain, **kept
        )
    if node.op_type not in _POOLS or not _is_same(node):
        return node
    sizes, kernel = arrays[node.input[0]].shape[2:], given["kernel_shape"]
    strides, dilations = (given.get(name, [1] * len(kernel)) for name in ("strides", "dilations"))
    if max(dilations) == 1 and all(s <= k for s, k in zip(strides, kernel, strict=True)):
        return node
    rows = zip(sizes, kernel, strides, dilations, strict=True)
    totals = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in rows]
    small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
    pads = [*large, *small] if given["auto_pad"] == b"SAME_LOWER" else [*small, *large]
    kept = {name: value for name, value in given.items() if name not in ("auto_pad", "ceil_mode")}
    return helper.make_node(
        node.op_type, node.input, node.output, node.name, domain=node.domain, **kept, pads=pads
    )


def _counted_from_the_start(
    node: onnx.NodeProto, arrays: Mapping[str, Array]
) -> onnx.NodeProto:  # fmt: skip
    """A Resize whose axes neither evaluator has to count from the end: both do so in part only."""
    if node.op_type != "Resize" or min(attributes(node).get("axes", [0])) >= 0:
        return node
    rank = arrays[node.input[0]].ndim
    made = onnx.NodeProto()
    made.CopyFrom(node)
    for attr in made.attribute:
        if attr.name == "axes":
            attr.ints[:] = [axis % max(rank, 1) for axis in attr.ints]
    return made


def for_reference(
    node: onnx.NodeProto, arrays: Mapping[str, Array]
) -> tuple[onnx.NodeProto, Mapping[str, Array]]:
    """The node and its operands as the reference takes them as they are meant.

    It aligns the corners of a length that is no integer, ``scale * dim``: so it is told the sizes.
    Of a SAME_LOWER pool it leaves the last window out where the stride does not divide the size,
    and the windows of a VALID one it counts as if they had no dilations. Axes of an Unsqueeze that
    is told by an attribute it inserts as they come, not as the result has them.
    """
    node = _padded(_counted_from_the_start(node, arrays), arrays)
    if node.op_type == "Unsqueeze" and len(node.input) == 1:
        return _in_order(node, arrays), arrays
    given = attributes(node)
    mode = given.get("coordinate_transformation_mode", b"")
    if node.op_type != "Resize" or mode != b"align_corners" or len(node.input) < 3:
        return node, arrays
    if not (name := node.input[2]) or not arrays[name].size:
        return node, arrays
    dims = np.array(arrays[node.input[0]].shape, np.float32)
    dims = dims[list(given["axes"])] if "axes" in given else dims
    if arrays[name].shape != dims.shape:  # the model's fault, which the reference says
        return node, arrays
    lengths = arrays[name].astype(np.float32) * dims
    if (lengths == np.floor(lengths)).all():
        return node, arrays
    made = onnx.NodeProto()
    made.CopyFrom(node)
    sizes = f"{name}_sizes"
    made.input[:] = [*node.input[:2], "", sizes]
    return made, {**arrays, sizes: np.floor(lengths).astype(np.int64)}


def _in_order(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> onnx.NodeProto:
    made = onnx.NodeProto()
    made.CopyFrom(node)
    for attr in made.attribute:
        rank = arrays[node.input[0]].ndim + len(attr.ints)
        if all(-rank <= axis < rank for axis in attr.ints):
            attr.ints[:] = sorted(axis % rank for axis in attr.ints)
    return made


def half_pixel(node: onnx.NodeProto, opsets: Mapping[str, int]) -> onnx.NodeProto | None:
    """A RoiAlign before opset 16 as one of opset 16, where the reference has another default."""
    if node.op_type != "RoiAlign" or opsets[""] >= 16:
        return None
    made = onnx.NodeProto()
    made.CopyFrom(node)
    mode = "coordinate_transformation_mode"
    made.attribute.append(helper.make_attribute(mode, "output_half_pixel"))
    return made


def counted_in_all(
    node: onnx.NodeProto, arrays: Mapping[str, Array], results: list[Array]
) -> list[Array]:
    """The places of a MaxPool are of the whole tensor; the reference has those of each plane."""
    if node.op_type != "MaxPool" or not any(node.output[1:]) or not results[-1].size:
        return results
    batch, channels, *sizes = arrays[node.input[0]].shape
    plane = math.prod(sizes)
    first = plane * np.arange(batch * channels).reshape(batch, channels, *[1] * len(sizes))
    return [*results[:-1], results[-1] % plane + first]


def resized(node: onnx.NodeProto) -> onnx.NodeProto | None:
    """An Upsample, which the reference does not have, as the Resize of opset 13 that it is."""
    if node.op_type != "Upsample":
        return None
    data, scales = node.input
    return helper.make_node(
        "Resize", [data, "", scales], node.output, mode=attributes(node).get("mode", b"nearest"),
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip


def flattened(
    node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Mapping[str, Array]
) -> tuple[onnx.NodeProto, Mapping[str, Array]] | None:
    """A Hardmax, Softmax or LogSoftmax of more axes than one, for an operand of two axes.

    Before opset 13 the axes from `axis` on are one, and the reference takes one only.
    """
    if node.op_type not in ("Hardmax", "Softmax", "LogSoftmax") or opsets[""] >= 13:
        return None
    name = node.input[0]
    shape = arrays[name].shape
    axis = attributes(node).get("axis", 1) % max(len(shape), 1)
    if axis >= len(shape) - 1:
        return None
    made = helper.make_node(node.op_type, node.input, node.output, axis=1)
    rows = arrays[name].reshape(math.prod(shape[:axis]), math.prod(shape[axis:]))
    return made, {**arrays, name: rows}


def has_nan(data: Array) -> bool:
    return data.dtype.kind == "f" and bool(np.isnan(data).any())


def _has_no_step(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether a sequence of a recurrent layer is empty."""
    steps = arrays[node.input[0]].shape[1 if attributes(node).get("layout", 0) else 0]
    lengths = arrays[node.input[4]] if len(node.input) > 4 and node.input[4] else np.ones(1)
    return steps == 0 or bool((lengths == 0).any())


def _is_short(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether a SAME ConvTranspose has more elements than its kernel reaches."""
    given = attributes(node)
    kernel = arrays[node.input[1]].shape[2:]
    rank = len(kernel)
    strides, dilations = (given.get(name, [1] * rank) for name in ("strides", "dilations"))
    extra = given.get("output_padding", [0] * rank)
    rows = zip(kernel, dilations, extra, strides, strict=True)
    short = any((k - 1) * d + 1 + e < s for k, d, e, s in rows)
    return _is_same(node) and short


def _is_same(node: onnx.NodeProto) -> bool:
    """Whether a node has as many windows as strides, whatever padding that takes."""
    return b"SAME" in attributes(node).get("auto_pad", b"")


def of_reference(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> str:
    """Why the answer of `onnx.reference` is none; empty where it is one."""
    given = attributes(node)
    if is_long(node, arrays):
        return "the present would have gigabytes"
    if node.op_type == "Resize" and given.get("antialias", 0):
        if arrays[node.input[0]].dtype.kind in "iu":
            return "it cuts once what ONNX Runtime rounds after every axis; ONNX says nothing of it"
    if node.op_type in _LAYERS and arrays[node.input[0]].size > _LONG:
        return "in Python so many steps take minutes"
    if node.op_type == "RoiAlign" and given.get("sampling_ratio", 0) <= 0:
        if _most_samples(arrays[node.input[1]], given) > _LONG:
            return "it has all samples of a region in memory, some gigabytes"
    if node.op_type == "Normalizer" and arrays[node.input[0]].dtype.kind in "iu":
        return "it divides integers in place"
    if node.op_type == "TreeEnsembleClassifier":
        if len(given.get("classlabels_int64s", ())) == 1:
            return "it has two scores of one class"
    if node.op_type == "LinearRegressor" and "intercepts" not in given:
        return "it adds NaN where there are no intercepts"
    if node.op_type == "LpNormalization" and given.get("p", 2) == 1:
        return "it adds up numbers, not their absolute values"
    if node.op_type == "OneHotEncoder":
        if arrays[node.input[0]].dtype.kind == "f":
            return "it looks up real numbers that ONNX makes integers of"
        categories = given.get("cats_int64s", [])
        if len({*categories}) < len(categories):
            return "it has a place less for each category that there is twice"
    if node.op_type == "MaxPool" and len(node.output) > 1 and _is_dense(given):
        return "it counts places otherwise where every window begins beside the one before"
    if node.op_type in _POOLS and _is_moved(node, arrays):
        return "it pads the start by half of what is missing behind the last window"
    if node.op_type == "GlobalMaxPool" and arrays[node.input[0]].ndim != 4:
        return "it takes the maximum over two axes, whatever the rank"
    if node.op_type == "QLinearConv" and arrays[node.input[0]].ndim != 4:
        if arrays[node.input[4]].size > 1:
            return "it scales the channels of an image of two axes, whatever the rank"
    if node.op_type == "Pad" and min(_widths(node, arrays, given), default=0) < 0:
        return "negative widths crop, which NumPy's padding does not"
    if node.op_type == "QuantizeLinear" and _is_far(node, arrays):
        return "it makes 32-bit integers before it saturates"
    if node.op_type == "ConvTranspose" and _is_short(node, arrays):
        # ONNX's equations give a padding below 0 there, which `pads` cannot be ("any value greater
        # than or equal to 0"). With `output_shape`, ONNX Runtime adds elements at the end, as the
        # reference does without `auto_pad`.
        return "it pads by less than 0, which moves the result"
    if node.op_type == "ConvTranspose" and given.get("group", 1) > 1 and len(node.input) > 2:
        return "it adds the biases of the first group to all of them"
    if node.op_type == "Mean" and _is_stretched(*(arrays[name].shape for name in node.input)):
        return "it adds to the first operand in place, which is the smaller one"
    if node.op_type in ("Conv", "FusedConv") and max(given.get("dilations", [1])) > 1:
        if not np.isfinite(arrays[node.input[0]].astype(np.float64)).all():
            return "it fills dilated weights with zeros, which times an infinity are NaN"
    if node.op_type in LOSSES and not arrays[node.input[0]].size:
        return "it infers a dim of a tensor without elements"
    if node.op_type == "Unique" and not given.get("sorted", 1):
        floats = arrays[node.input[0]].dtype.kind == "f"  # which the text evaluates
        if not floats and (given.get("axis", -1) != 0 or len(node.output) == 1):
            return "it takes the unsorted elements along axis 0, whatever the axis"
    return ""


def _is_moved(node: onnx.NodeProto, arrays: Mapping[str, Array]) -> bool:
    """Whether the last window of a pool ends so far behind the padding that all are moved."""
    given, sizes = attributes(node), arrays[node.input[0]].shape[2:]
    if node.op_type == "MaxPool" or not given.get("ceil_mode", 0) or _is_same(node):
        return False
    return any(-room % stride > 1 for room, stride in _rooms(given, sizes))


def _is_dense(given: Mapping[str, Any]) -> bool:
    """Whether a pool over two axes or more has neither strides nor dilations."""
    steps = [*given.get("strides", ()), *given.get("dilations", ())]
    return len(given["kernel_shape"]) > 1 and max(steps, default=1) == 1


def of_reference_answer(node: onnx.NodeProto, results: Sequence[object]) -> str:
    """Why what `onnx.reference` (1.23) answers is none; empty where it is one."""
    if node.op_type.startswith("TreeEnsemble"):
        ends = np.finfo(np.float32).max
        if any(isinstance(r, np.ndarray) and (np.abs(r) == ends).any() for r in results):
            return "it has what an extreme begins with where no leaf is of a target"
    if node.op_type != "Loop":
        return ""
    rows = results[max(0, len(node.input) - 2) :]
    if any(isinstance(r, np.ndarray) and r.ndim >= 2 for r in rows):
        return "it stacks numbers as a column, and joins what has two axes or more"
    return ""


def _is_stretched(first: tuple[int, ...], *others: tuple[int, ...]) -> bool:
    """Whether broadcasting makes another shape of the first one; not where there is none."""
    try:
        return np.broadcast_shapes(first, *others) != first
    except ValueError:
        return False


def _most_samples(regions: Array, given: Mapping[str, Any]) -> float:
    """Of a RoiAlign that takes one for each pixel."""
    if regions.ndim != 2 or regions.shape[1:] != (4,):
        return 0
    x1, y1, x2, y2 = regions.astype(np.float64).T * given.get("spatial_scale", 1.0)
    with np.errstate(all="ignore"):
        samples = np.maximum(np.abs(x2 - x1), 1) * np.maximum(np.abs(y2 - y1), 1)
    return float(np.nan_to_num(samples, nan=np.inf).max(initial=0))


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
