"""The five networks of MLPerf Tiny in int8, with weights drawn from a seed.

Enters: a name and a seed. Leaves: an ONNX model of Quantize- and DequantizeLinear nodes, as tf2onnx
writes what TensorFlow Lite has quantised: ports of int8 with channels last, weights with one scale
for each output channel of a convolution, or one for a dense layer. Layers and sizes are those of
the benchmark's TFLite files. So a package has the same kernels, and executes as many instructions
within 1 %: tests/cortexm/test_tiny.py compares. The networks recognise nothing.

Example
-------
>>> NETWORKS["kws"].build().graph.output[0].name
'output'
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: The range of a tensor's bytes, in standard deviations: few values are clamped.
REACH = 4.0
#: Magnitude of a channel's bias whose weights are next to nothing. TensorFlow Lite makes the scale
#: of such weights as large as the bias needs to be below 2^31.
LARGEST_BIAS = 2.0**30


@dataclass(frozen=True, slots=True)
class Value:
    """Bytes in a graph, as (1, channels, height, width) or (1, channels)."""

    name: str
    scale: float
    zero: int
    square: float  # mean of the squared real values, about
    channels: int
    sides: tuple[int, ...] = ()
    faint: int = 0  # channels that hardly depend on the input


@dataclass(slots=True)
class Graph:
    """Nodes and weights of a graph that grows; every layer takes and returns a `Value`."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def op(self, kind: str, *inputs: str, **attrs: Any) -> str:
        made = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [made], made, **attrs))
        return made

    def held(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights):03d}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def scaled(self, scale: Any, zero: int, dtype: type) -> tuple[str, str]:
        """Names of scales and zero points."""
        scales = np.asarray(scale, np.float32)
        return self.held(scales), self.held(np.full(scales.shape, zero, dtype))

    # ---- bytes --------------------------------------------------------------------------------

    def image(self, height: int, width: int, channels: int) -> Value:
        """The input: real values from 0 to 1, channels last."""
        return self._input(1 / 255, -128, channels, (height, width))

    def features(self, channels: int, sides: tuple[int, ...] = ()) -> Value:
        """The input: positive and negative values, as of a logarithmic spectrum."""
        return self._input(0.02, 24, channels, sides)

    def _input(self, scale: float, zero: int, channels: int, sides: tuple[int, ...]) -> Value:
        square = float(np.mean((scale * (np.arange(-128, 128) - zero)) ** 2))
        name = self.op("Transpose", "input", perm=[0, 3, 1, 2]) if sides else "input"
        return Value(name, scale, zero, square, channels, sides)

    def real(self, x: Value) -> str:
        return self.op("DequantizeLinear", x.name, *self.scaled(x.scale, x.zero, np.int8))

    def stored(self, name: str, like: Value) -> Value:
        """Bytes of real values, with scale and zero point of `like`."""
        words = self.scaled(like.scale, like.zero, np.int8)
        return replace(like, name=self.op("QuantizeLinear", name, *words))

    def ranged(self, name: str, like: Value, positive: bool) -> Value:
        """Bytes of real values, in a range for values as large as `like`."""
        reach = REACH * math.sqrt(like.square * (2 if positive else 1))
        scale = float(np.float32(reach / 255 if positive else 2 * reach / 255))
        zero = -128 if positive else int(self.rng.integers(-12, 13))
        return self.stored(name, replace(like, scale=scale, zero=zero))

    # ---- layers -------------------------------------------------------------------------------

    def parameters(
        self, x: Value, shape: Sequence[int], fan: float, axis: int | None, faint: int = 0
    ) -> tuple[str, str]:
        """Real weights of variance 1 / `fan`, scaled by places of an axis, and a bias.

        In `faint` channels, as training leaves some, weights are next to nothing beside the bias.
        """
        made = shape[-1] if axis is None else shape[axis]
        weights = self.rng.standard_normal(shape) / math.sqrt(fan)
        bias = self.rng.standard_normal(made) * 0.1 * math.sqrt(x.square)
        others = tuple(k for k in range(len(shape)) if k != axis)
        largest = np.abs(weights).max(None if axis is None else others, keepdims=axis is not None)
        values = np.rint(weights / largest * 127).astype(np.int8)
        scale = np.asarray(largest / 127, np.float32).reshape(-1 if axis is not None else ())
        if faint:
            places = self.rng.permutation(made)[:faint]
            scale[places] = np.abs(bias[places]) / (LARGEST_BIAS * x.scale)
        sums = np.float32(x.scale) * scale
        along = {} if axis is None else {"axis": axis}
        kernel = self.op(
            "DequantizeLinear", self.held(values), *self.scaled(scale, 0, np.int8), **along
        )
        held = self.held(np.rint(bias / sums).astype(np.int32))
        along = {} if axis is None else {"axis": 0}
        return kernel, self.op("DequantizeLinear", held, *self.scaled(sums, 0, np.int32), **along)

    def conv(
        self, x: Value, made: int, kernel: Sequence[int] = (1, 1), stride: int = 1, *,
        depthwise: bool = False, same: bool = True, relu: bool = True, faint: int = 0,
    ) -> Value:  # fmt: skip
        """A convolution, padded as TensorFlow's "same", or not at all."""
        sizes = list(zip(x.sides, kernel, strict=True))
        pads = [_padding(n, k, stride) if same else (0, 0) for n, k in sizes]
        padded = [(n, k, low, high) for (n, k), (low, high) in zip(sizes, pads, strict=True)]
        sides = tuple((n + low + high - k) // stride + 1 for n, k, low, high in padded)
        read, strong = (1, 1) if depthwise else (x.channels, x.channels - x.faint)
        fan = strong * math.prod(_inside(*row, stride) for row in padded) / (2 if relu else 1)
        words = self.parameters(x, (made, read, *kernel), fan, 0, faint)
        y = self.op(
            "Conv", self.real(x), *words, kernel_shape=kernel, strides=[stride] * 2,
            pads=[low for low, _ in pads] + [high for _, high in pads],
            dilations=[1, 1], group=x.channels if depthwise else 1,
        )  # fmt: skip
        faint = x.faint if depthwise else faint
        like = replace(x, channels=made, sides=sides, faint=faint)
        return self.ranged(self.op("Relu", y) if relu else y, like, relu)

    def depthwise(
        self, x: Value, kernel: Sequence[int] = (3, 3), stride: int = 1, **how: Any
    ) -> Value:
        return self.conv(x, x.channels, kernel, stride, depthwise=True, **how)

    def add(self, a: Value, b: Value) -> Value:
        y = self.op("Relu", self.op("Add", self.real(a), self.real(b)))
        return self.ranged(y, replace(a, square=a.square + b.square), True)

    def pool(self, x: Value) -> Value:
        """Means of the whole image, in the same bytes."""
        y = self.op("AveragePool", self.real(x), kernel_shape=x.sides, strides=x.sides)
        return self.stored(y, replace(x, sides=(1, 1)))

    def flat(self, x: Value) -> Value:
        y = self.op("Reshape", self.real(x), self.held(np.asarray([1, -1], np.int64)))
        return self.stored(y, replace(x, sides=()))

    def dense(self, x: Value, made: int, relu: bool = False, gain: float = 1) -> Value:
        fan = (x.channels - x.faint) / (gain**2 * (2 if relu else 1))
        kernel, bias = self.parameters(x, (x.channels, made), fan, None)
        y = self.op("Add", self.op("MatMul", self.real(x), kernel), bias)
        like = replace(x, channels=made, square=x.square * gain**2)
        return self.ranged(self.op("Relu", y) if relu else y, like, relu)

    def classes(self, x: Value, count: int, gain: float = 1) -> None:
        """The output: probabilities. A larger `gain` sets them further apart."""
        y = self.dense(x, count, gain=gain)
        chances = replace(y, scale=1 / 256, zero=-128)
        self.stored(self.op("Softmax", self.real(y), axis=1), chances)


def _padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Before and after a side, so that ceil(size / stride) windows fit."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _inside(size: int, kernel: int, low: int, high: int, stride: int) -> float:
    """Taps along a side that are not in the padding, on average."""
    first = np.arange(-low, size + high - kernel + 1, stride)
    return float(np.mean(np.minimum(first + kernel, size) - np.maximum(first, 0)))


@dataclass(frozen=True, slots=True)
class Network:
    """A network: the function that draws it, the shape of its input, and its outputs."""

    name: str
    draw: Callable[[Graph], Any]
    shape: tuple[int, ...]
    outputs: int

    def build(self, seed: int = 0) -> onnx.ModelProto:
        """The model of a seed; equal seeds give equal bytes."""
        graph = Graph(np.random.default_rng([seed, zlib.crc32(self.name.encode())]))
        self.draw(graph)
        graph.nodes[-1].output[0] = "output"
        ports = [
            helper.make_tensor_value_info(name, TensorProto.INT8, shape)
            for name, shape in (("input", self.shape), ("output", (1, self.outputs)))
        ]
        made = helper.make_graph(graph.nodes, self.name, ports[:1], ports[1:], graph.weights)
        opsets = [helper.make_opsetid("", 13)]
        model = helper.make_model(
            made, opset_imports=opsets, ir_version=8, producer_name="tiny_networks"
        )
        onnx.checker.check_model(model)
        return model

    def arrays(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Inputs: patches of eight in a range of each seed, since all noise has the same mean."""
        rng = np.random.default_rng([seed, 1])
        low, high = rng.integers(-128, 0), rng.integers(0, 128)
        value = rng.integers(low, high + 1, [-(-n // 8) for n in self.shape], dtype=np.int8)
        for axis in range(value.ndim):
            value = value.repeat(8, axis)
        return {"input": np.ascontiguousarray(value[tuple(slice(n) for n in self.shape)])}


#: The networks by their names in the benchmark.
NETWORKS: dict[str, Network] = {}


def network(*shape: int, outputs: int) -> Callable[[Callable[[Graph], Any]], None]:
    """A decorator: the function draws a network of its own name."""

    def note(draw: Callable[[Graph], Any]) -> None:
        NETWORKS[draw.__name__] = Network(draw.__name__, draw, shape, outputs)

    return note


@network(1, 49, 10, 1, outputs=12)
def kws(g: Graph) -> None:
    """Keyword spotting: depthwise separable, 2.66 M multiply-adds."""
    x = g.conv(g.features(1, (49, 10)), 64, (10, 4), 2)
    for _ in range(4):
        x = g.conv(g.depthwise(x), 64)
    g.classes(g.flat(g.pool(x)), 12)


@network(1, 32, 32, 3, outputs=10)
def ic(g: Graph) -> None:
    """Image classification: ResNet of eight layers, 12.5 M multiply-adds."""
    x = g.conv(g.image(32, 32, 3), 16, (3, 3))
    for made, stride in ((16, 1), (32, 2), (64, 2)):
        y = g.conv(g.conv(x, made, (3, 3), stride), made, (3, 3), relu=False)
        x = g.add(x if stride == 1 else g.conv(x, made, (1, 1), stride, relu=False), y)
    g.classes(g.flat(g.pool(x)), 10, gain=4)


@network(1, 96, 96, 3, outputs=2)
def vww(g: Graph) -> None:
    """Visual wake words: MobileNet 1 with a quarter of the channels, 7.49 M multiply-adds."""
    x = g.conv(g.image(96, 96, 3), 8, (3, 3), 2)
    plan = [  # channels, stride, channels whose weights are next to nothing
        (16, 1, 0), (32, 2, 0), (32, 1, 0), (64, 2, 0), (64, 1, 4), (128, 2, 21), (128, 1, 71),
        (128, 1, 98), (128, 1, 109), (128, 1, 109), (128, 1, 101), (256, 2, 224), (256, 1, 234),
    ]  # fmt: skip
    for made, stride, faint in plan:
        x = g.conv(g.depthwise(x, (3, 3), stride), made, faint=faint)
    g.classes(g.flat(g.pool(x)), 2, gain=32)


@network(1, 30, 1, 40, outputs=3)
def sww(g: Graph) -> None:
    """Streaming wake word: convolutions over time, 0.83 M multiply-adds."""
    x = g.features(40, (30, 1))
    for taps, made in ((3, 128), (5, 128), (10, 128), (15, 32)):
        x = g.conv(g.depthwise(x, (taps, 1), same=False, relu=False), made)
    g.classes(g.flat(x), 3)


@network(1, 640, outputs=640)
def ad(g: Graph) -> None:
    """Anomaly detection: an autoencoder of dense layers, 0.264 M multiply-adds."""
    x = g.features(640)
    for made in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = g.dense(x, made, relu=True)
    g.dense(x, 640)
