"""Random networks over images, of all the operators that are done by bands of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class _Drawing:
    """Nodes and weights so far; a value is its name, channels, height and width."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def random(self, *shape: int) -> str:
        scale = np.sqrt(np.prod(shape[1:]))
        return self.weight((self.rng.standard_normal(shape) / scale).astype(np.float32))

    def add(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def one(self, *values: int) -> int:
        return int(self.rng.choice(values))


Image = tuple[str, int, int, int]


def _conv(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    k, s, dilation = d.one(1, 3, 3, 5), d.one(1, 1, 2), d.one(1, 1, 2)
    reach = (k - 1) * dilation + 1
    if min(h, w) < reach:
        k = s = dilation = reach = 1
    made = d.one(4, 8, 12)
    group = c if d.one(0, 1) and k > 1 else 1
    made = c if group > 1 else made
    pads = [int(d.rng.integers(0, min(reach, 3))) for _ in range(4)]
    attributes: dict[str, object] = {"strides": [s, s], "dilations": [dilation] * 2, "group": group}
    if d.one(0, 0, 1) and dilation == 1:
        attributes["auto_pad"] = ("SAME_UPPER", "SAME_LOWER")[d.one(0, 1)]
        h, w = -(-h // s), -(-w // s)
    else:
        attributes["pads"] = pads
        h, w = ((n + pads[i] + pads[i + 2] - reach) // s + 1 for i, n in enumerate((h, w)))
    y = d.add("Conv", name, d.random(made, c // group, k, k), d.random(made), **attributes)
    return y, made, h, w


def _pool(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    if min(h, w) < 4:
        return x
    k, s = d.one(2, 3), d.one(1, 2)
    kind = ("MaxPool", "AveragePool")[d.one(0, 1)]
    y = d.add(kind, name, kernel_shape=[k, k], strides=[s, s], pads=[k // 2, 0, 0, k // 2])
    h, w = ((n + k // 2 - k) // s + 1 for n in (h, w))
    return y, c, h, w


def _elementwise(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    kind = ("Sigmoid", "HardSwish", "Mul", "Add")[d.one(0, 1, 2, 3)]
    if kind in ("Mul", "Add"):
        return d.add(kind, name, d.random(c, 1, 1)), c, h, w
    return d.add(kind, name), c, h, w


def _residual(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    inner = d.add("Conv", name, d.random(c, 1, 3, 3), group=c, pads=[1] * 4)
    inner = d.add("Conv", d.add("Relu", inner), d.random(c, c, 1, 1))
    return d.add("Add", name, inner), c, h, w


def _side_by_side(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    left = d.add("Conv", name, d.random(4, c, 3, 3), pads=[1] * 4)
    right = d.add("Conv", name, d.random(8, c, 1, 1))
    return d.add("Concat", left, right, axis=1), 12, h, w


def _resized(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    if h * w > 900:
        return x
    mode = ("nearest", "linear")[d.one(0, 1)]
    kinds = ("asymmetric", "half_pixel")
    y = d.add(
        "Resize", name, "", d.weight(np.array([1, 1, 2, 2], np.float32)), mode=mode,
        coordinate_transformation_mode=kinds[d.one(0, 1)], nearest_mode="floor",
    )  # fmt: skip
    return y, c, 2 * h, 2 * w


def _padded(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    return d.add("Pad", name, d.weight(np.array([0, 0, 0, 0, 0, 4, 0, 0]))), c + 4, h, w


def _gated(d: _Drawing, x: Image) -> Image:
    """An activation in pieces times a gate of channels, of pixels or of all, and a sum."""
    name, c, h, w = x
    shape = ((c, 1, 1), (1, 1, 1), (1, h, 1), (1, 1, w), (c, h, w))[d.one(0, 0, 1, 2, 3, 4)]
    y = d.add("Add", d.add("Mul", d.add("Tanh", name), d.random(*shape)), name)
    return d.add(("Relu", "Softplus", "Elu")[d.one(0, 1, 2)], y), c, h, w


def _twice(d: _Drawing, x: Image) -> Image:
    """Two values of one image, times each other: a GLU."""
    name, c, h, w = x
    left = d.add("Conv", name, d.random(c, c, 1, 1))
    right = d.add("Sigmoid", d.add("Add", d.add("Sin", name), d.random(c, 1, 1)))
    return d.add("Sub", d.add("Mul", left, right), d.add("Abs", name)), c, h, w


def _mean_of_channels(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    mean = d.add("ReduceMean", d.add("Cos", name), d.weight(np.array([1])), keepdims=1)
    return d.add("Sub", d.add("Exp", d.add("Neg", d.add("Abs", name))), mean), c, h, w


def _softmax(d: _Drawing, x: Image) -> Image:
    return d.add("Softmax", d.add("Sin", x[0]), axis=1), *x[1:]


def _flipped(d: _Drawing, x: Image) -> Image:
    """The image and its mirror image: from top to bottom its rows are others."""
    name, c, h, w = x
    begin, end, axis, step = (d.weight(np.array([v])) for v in (-1, -(2**31), d.one(2, 3), -1))
    mirrored = d.add("Slice", d.add("Sin", name), begin, end, axis, step)
    return d.add("Mul", d.add("Cos", name), mirrored), c, h, w


def _moved(d: _Drawing, x: Image) -> Image:
    """The image and itself a row or column further on."""
    name, c, h, w = x
    axis = d.one(2, 3)
    pads = np.zeros(8, np.int64)
    pads[axis], pads[axis + 4] = 1, -1
    return d.add("Add", d.add("Tanh", name), d.add("Pad", name, d.weight(pads))), c, h, w


def _framed(d: _Drawing, x: Image) -> Image:
    """The image within a frame of a number, and every second row of that."""
    name, c, h, w = x
    above, below, left, right = (int(n) for n in d.rng.integers(0, 4, 4))
    pads = d.weight(np.array([0, 0, above, left, 0, 0, below, right]))
    y = d.add("Pad", name, pads, d.weight(np.float32(0.5)))
    h, w = h + above + below, w + left + right
    begin, step = d.one(0, 1, 3), d.one(1, 2)
    cut = (d.weight(np.array([v])) for v in (begin, 2**31 - 1, 2, step))
    return d.add("Slice", y, *cut), c, -(-(h - begin) // step), w


def _normed(d: _Drawing, x: Image) -> Image:
    """Layer norm of each pixel's channels."""
    name, c, h, w = x
    y = d.add("Transpose", name, perm=[0, 2, 3, 1])
    y = d.add("LayerNormalization", y, d.random(c), d.random(c), axis=-1)
    return d.add("Transpose", y, perm=[0, 3, 1, 2]), c, h, w


def _shared_gate(d: _Drawing, x: Image) -> Image:
    name, c, h, w = x
    gate = d.add("Conv", d.add("GlobalAveragePool", name), d.random(c, c, 1, 1))
    return d.add("Add", d.add("Mul", name, d.add("Tanh", gate)), d.add("Sin", name)), c, h, w


_PARTS = (_conv, _conv, _conv, _pool, _elementwise, _residual, _side_by_side, _resized, _padded)


_CHAINS = (_conv, _conv, _gated, _gated, _twice, _mean_of_channels, _softmax, _flipped, _moved,
           _framed, _framed, _normed, _shared_gate, _side_by_side, _resized)  # fmt: skip


def chains(seed: int, images: int = 1) -> onnx.ModelProto:
    """As `network`, with many chains of operators that become generated kernels."""
    return network(seed, images, _CHAINS)


#: Those that do not know how large the image is.
_ANY_SIZE = (*_PARTS, _twice, _mean_of_channels, _softmax, _flipped, _moved, _framed, _normed,
             _shared_gate)  # fmt: skip


def open_network(seed: int, sides: tuple[int | str, int | str] = ("h", "w")) -> onnx.ModelProto:
    """As `network`, of which the run says how high, or how wide, the image is."""
    return network(seed, parts=_ANY_SIZE, sides=sides)


def network(
    seed: int,
    images: int = 1,
    parts: Sequence[Callable[[_Drawing, Image], Image]] = _PARTS,
    *,
    channels_last: bool = False,
    sides: tuple[int | str, int | str] | None = None,
) -> onnx.ModelProto:
    """A network from images to as many, their means or maxima; `sides` are others than drawn."""
    d = _Drawing(seed)
    h, w = int(d.rng.integers(13, 40)), int(d.rng.integers(8, 30))
    image: Image = ("x", d.one(1, 3, 4), h, w)
    shape: list[int | str] = [images, image[1], *(sides or (h, w))]
    if channels_last:
        image = (d.add("Transpose", "x", perm=[0, 3, 1, 2]), *image[1:])
        shape = [images, h, w, shape[1]]
    image = _conv(d, image)
    for _ in range(d.one(3, 5, 8)):
        image = parts[int(d.rng.integers(len(parts)))](d, image)
    name, c, h, w = image
    if d.one(0, 1):
        kind = ("GlobalAveragePool", "GlobalMaxPool")[d.one(0, 1)]
        name, h, w = d.add(kind, name), 1, 1
    drawn = None if sides is None or h == 1 else (None, None)
    graph = helper.make_graph(
        d.nodes, "image",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [images, c, *(drawn or (h, w))])],
        d.weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def decoder(kind: str = "GlobalAveragePool") -> onnx.ModelProto:
    """An image and a smaller one enlarged; a gate made of their pooled sum is for the first."""
    d = _Drawing(2)
    a = d.add("Conv", "x", d.random(8, 3, 3, 3), pads=[1] * 4)
    b = d.add("Conv", a, d.random(12, 8, 3, 3), pads=[1] * 4, strides=[2, 2])
    b = d.add("Relu", d.add("Conv", d.add("Relu", b), d.random(8, 12, 3, 3), pads=[1] * 4))
    twice = d.weight(np.array([1, 1, 2, 2], np.float32))
    b = d.add("Conv", d.add("Resize", b, "", twice, mode="linear"), d.random(8, 8, 1, 1))
    gate = d.add("Sigmoid", d.add("Conv", d.add(kind, d.add("Add", a, b)), d.random(8, 8, 1, 1)))
    y = d.add("Add", d.add("Mul", a, gate), b)
    y = d.add("Conv", y, d.random(1, 8, 3, 3), pads=[1] * 4)
    graph = helper.make_graph(
        d.nodes, "decoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 34, 22])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 1, 34, 22])],
        d.weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def chain() -> onnx.ModelProto:
    """Three convolutions over an image of 24 rows, the last with a stride of 2; its mean."""
    d = _Drawing(0)
    y = "x"
    for made, taken, stride in ((8, 3, 1), (8, 8, 1), (4, 8, 2)):
        weight = d.random(made, taken, 3, 3)
        y = d.add("Conv", y, weight, pads=[1] * 4, strides=[stride] * 2)
    y = d.add("GlobalAveragePool", y)
    graph = helper.make_graph(
        d.nodes, "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 24, 16])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 4, 1, 1])],
        d.weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def planar(first: str) -> onnx.ModelProto:
    """A convolution over an image of three planes, and its means; `first` reads the image."""
    d = _Drawing(0)
    y, weight = "x", d.random(8, 3, 3, 3)
    elements = TensorProto.UINT8 if first == "bytes" else TensorProto.FLOAT
    if first == "bytes":
        y = d.add("Div", d.add("Cast", y, to=TensorProto.FLOAT), d.weight(np.float32(255)))
    elif first == "quantised":
        scale, zero = d.weight(np.float32(0.02)), d.weight(np.int8(3))
        y = d.add("DequantizeLinear", d.add("QuantizeLinear", y, scale, zero), scale, zero)
        integers = d.weight(d.rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8))
        weight = d.add("DequantizeLinear", integers, scale, d.weight(np.int8(0)))
    left = d.add("Conv", y, weight, pads=[1] * 4)
    if first == "two convolutions":
        left = d.add("Add", left, d.add("Conv", y, d.random(8, 3, 5, 5), pads=[2] * 4))
    elif first == "pooling":
        left = d.add("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2])
    elif first == "sum":
        left = d.add("Add", y, d.add("Conv", y, d.random(3, 3, 3, 3), pads=[1] * 4))
    y = d.add("GlobalAveragePool", d.add("MaxPool", left, kernel_shape=[2, 2]))
    graph = helper.make_graph(
        d.nodes, "planar",
        [helper.make_tensor_value_info("x", elements, [1, 3, 21, 16])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)],
        d.weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def pyramid() -> onnx.ModelProto:
    """Convolutions and poolings of 32 rows down to one: line buffers of the last have all rows."""
    d = _Drawing(1)
    y, taken = "x", 3
    for made, pooled in ((16, 2), (32, 2), (64, 1), (64, 2), (128, 1), (128, 2)):
        y = d.add("Conv", y, d.random(made, taken, 3, 3), pads=[1] * 4)
        y = d.add("Relu", y)
        if pooled > 1:
            y = d.add("MaxPool", y, kernel_shape=[pooled] * 2, strides=[pooled] * 2)
        taken = made
    y = d.add("Conv", y, d.random(32, taken, 2, 2))
    graph = helper.make_graph(
        d.nodes, "pyramid",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 133])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 32, 1, None])],
        d.weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
