"""Chains of today's networks: the small graphs between their convolutions and products.

A chain is a function with the decorator `chain`, which gives its open dims their sizes. It writes
one graph (opset 20) and returns the sizes that its loop by hand takes; the loop is the function of
the same name in tests/chains/loops.c. Its docstring names the network, then what the chain is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dim = int | str
Dims = tuple[Dim, ...]
Arrays = dict[str, np.ndarray]

F32, F16, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
I8, I32, BOOL = TensorProto.INT8, TensorProto.INT32, TensorProto.BOOL
DTYPES: dict[int, np.dtype] = {
    F32: np.dtype(np.float32), F16: np.dtype(np.float16), BF16: np.dtype(ml_dtypes.bfloat16),
    I8: np.dtype(np.int8), I32: np.dtype(np.int32), BOOL: np.dtype(np.bool_),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph; `scale` is the deviation of an input's numbers."""

    name: str
    dims: Dims
    kind: int
    scale: float = 1.0

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(sizes[d] if isinstance(d, str) else d for d in self.dims)

    def draw(self, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray:
        """Numbers of a normal distribution; those of bool are true where one is positive."""
        drawn = rng.standard_normal(self.shape(sizes)) * self.scale
        if self.kind == BOOL:
            return drawn > 0
        if self.kind == I8:
            drawn = drawn.clip(-128, 127)
        return drawn.astype(DTYPES[self.kind])

    def info(self, prefix: str) -> onnx.ValueInfoProto:
        dims = [f"{prefix}_{d}" if isinstance(d, str) else d for d in self.dims]
        return helper.make_tensor_value_info(self.name, self.kind, dims)


@dataclass(slots=True)
class Graph:
    """A chain's graph that grows; every name in it begins with the chain's."""

    name: str
    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    #: Arrays of the network that the loop by hand reads, too.
    weights: Arrays = field(default_factory=dict)
    #: Numbers that the loop has as its own.
    constants: Arrays = field(default_factory=dict)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)

    def input(self, name: str, *dims: Dim, kind: int = F32, scale: float = 1.0) -> str:
        self.inputs.append(Port(f"{self.name}_{name}", dims, kind, scale))
        return self.inputs[-1].name

    def output(self, value: str, *dims: Dim, kind: int = F32) -> None:
        port = Port(f"{self.name}_out", dims, kind)
        self.nodes.append(helper.make_node("Identity", [value], [port.name]))
        self.outputs.append(port)

    def op(self, kind: str, *values: str, **attributes: Any) -> str:
        made = f"{self.name}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, values, [made], **attributes))
        return made

    def halves(self, x: str, axis: int) -> tuple[str, str]:
        made = [f"{self.name}_{len(self.nodes)}_{half}" for half in ("low", "high")]
        self.nodes.append(helper.make_node("Split", [x], made, axis=axis, num_outputs=2))
        return made[0], made[1]

    def weight(self, array: np.ndarray) -> str:
        name = f"{self.name}_w{len(self.weights)}"
        self.weights[name] = array.astype(np.float32)
        return name

    def normal(self, *shape: int) -> str:
        return self.weight(self.rng.standard_normal(shape))

    def const(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"{self.name}_c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def ints(self, *values: int) -> str:
        return self.const(values, np.int64)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, with the sizes of its open dims.

    Attributes
    ----------
    name, network, what : str
        Name; the network that has it; what it computes.
    write : callable
        Writes the graph, and returns the sizes for the loop by hand.
    sizes : mapping of str to int
        Sizes of the open dims, by name.
    """

    name: str
    network: str
    what: str
    write: Callable[[Graph], Dims]
    sizes: Mapping[str, int]

    def case(self, seed: int = 0) -> Case:
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        graph = Graph(self.name, rng)
        dims = self.write(graph)
        given = {port.name: port.draw(self.sizes, rng) for port in graph.inputs}
        known = tuple(self.sizes[d] if isinstance(d, str) else d for d in dims)
        return Case(self, graph, given, known)


@dataclass(frozen=True, slots=True)
class Case:
    """A chain with numbers: its graph, its inputs, and the sizes for the loop by hand."""

    chain: Chain
    graph: Graph
    given: Arrays
    dims: tuple[int, ...]

    @property
    def output(self) -> Port:
        return self.graph.outputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the output."""
        return self.output.shape(self.chain.sizes)


def model(cases: Iterable[Case]) -> onnx.ModelProto:
    """One model of these chains, which have nothing to do with each other."""
    graphs = [case.graph for case in cases]
    held = [pair for g in graphs for pair in (g.weights | g.constants).items()]
    made = helper.make_graph(
        [node for g in graphs for node in g.nodes],
        "chains",
        [port.info(g.name) for g in graphs for port in g.inputs],
        [port.info(g.name) for g in graphs for port in g.outputs],
        [numpy_helper.from_array(array, name) for name, array in held],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


#: All chains by name, in the order of the table.
CHAINS: dict[str, Chain] = {}

_Write = Callable[[Graph], Dims]


def chain(**sizes: int) -> Callable[[_Write], _Write]:
    """Put a function among the `CHAINS`."""

    def add(write: _Write) -> _Write:
        network, _, what = (write.__doc__ or "").partition(": ")
        CHAINS[write.__name__] = Chain(write.__name__, network, what.rstrip("."), write, sizes)
        return write

    return add


@chain(n=197)
def bias_gelu(g: Graph) -> Dims:
    """ViT: the bias of a product, and GELU."""
    g.output(g.op("Gelu", g.op("Add", g.input("x", "n", 384), g.normal(384))), "n", 384)
    return "n", 384


@chain(n=200)
def glu(g: Graph) -> Dims:
    """Conformer: a gated linear unit of two halves of each row."""
    value, gate = g.halves(g.input("x", "n", 512), 1)
    g.output(g.op("Mul", value, g.op("Sigmoid", gate)), "n", 256)
    return "n", 256


@chain()
def star(g: Graph) -> Dims:
    """StarNet: one branch by ReLU6, times the other one."""
    x, y = g.input("x", 1, 32, 28, 28, scale=4), g.input("y", 1, 32, 28, 28)
    g.output(g.op("Mul", g.op("Clip", x, g.const(0), g.const(6)), y), 1, 32, 28, 28)
    return (32 * 28 * 28,)


@chain()
def layer_scale(g: Graph) -> Dims:
    """ConvNeXt: a branch, scaled by channel, added to its input."""
    x, y = g.input("x", 1, 32, 28, 28), g.input("y", 1, 32, 28, 28)
    g.output(g.op("Add", x, g.op("Mul", g.normal(32, 1, 1), y)), 1, 32, 28, 28)
    return 32, 28 * 28


@chain(n=784)
def linear_attention(g: Graph) -> Dims:
    """EfficientViT: rows over the last row, which has the weights' sums."""
    x = g.input("x", 1, 8, 9, "n")
    rows = g.op("Slice", x, g.ints(0), g.ints(8), g.ints(2))
    sums = g.op("Slice", x, g.ints(8), g.ints(9), g.ints(2))
    g.output(g.op("Div", rows, g.op("Add", sums, g.const(1e-15))), 1, 8, 8, "n")
    return 8, 8, "n"


@chain(n=64)
def rotary(g: Graph) -> Dims:
    """Llama, Qwen: the halves of each head turned by its position."""
    x, c, s = (g.input(k, 1, h, "n", 32) for k, h in (("x", 4), ("cos", 1), ("sin", 1)))
    low, high = g.halves(x, 3)
    turned = g.op("Concat", g.op("Neg", high), low, axis=3)
    g.output(g.op("Add", g.op("Mul", x, c), g.op("Mul", turned, s)), 1, 4, "n", 32)
    return 4, "n", 16


@chain()
def mamba_step(g: Graph) -> Dims:
    """Mamba: the next state of one token."""
    dt, x = g.input("dt", 128, 1), g.input("x", 128, 1)
    h, w = g.input("h", 128, 16), g.input("w", 1, 16)
    decay = g.op("Exp", g.op("Mul", dt, g.weight(-np.exp(g.rng.standard_normal((128, 16))))))
    fresh = g.op("Mul", g.op("Mul", dt, w), x)
    g.output(g.op("Add", g.op("Mul", decay, h), fresh), 128, 16)
    return 128, 16


@chain(n=64)
def softplus_bias(g: Graph) -> Dims:
    """Mamba: the length of a step from a product and its bias."""
    g.output(g.op("Softplus", g.op("Add", g.input("x", "n", 256), g.normal(256))), "n", 256)
    return "n", 256


@chain(n=200)
def wavenet_gate(g: Graph) -> Dims:
    """VITS: a condition added to all times, then tanh of some channels times sigmoid of others."""
    x, condition = g.input("x", 1, 64, "n"), g.input("g", 1, 64, 1)
    value, gate = g.halves(g.op("Add", x, condition), 1)
    g.output(g.op("Mul", g.op("Tanh", value), g.op("Sigmoid", gate)), 1, 32, "n")
    return 32, "n"


@chain(n=64)
def masked_softmax(g: Graph) -> Dims:
    """GPT-2: scaled scores where a mask allows them, and their softmax."""
    x, mask = g.input("x", 1, 4, "n", "n", scale=8), g.input("mask", 1, 1, "n", "n", kind=BOOL)
    scores = g.op("Where", mask, g.op("Mul", x, g.const(0.125)), g.const(-1e9))
    g.output(g.op("Softmax", scores, axis=-1), 1, 4, "n", "n")
    return 4, "n", "n"


@chain()
def window_reverse(g: Graph) -> Dims:
    """Swin: windows put back into the image, added to the block's input."""
    x, r = g.input("x", 16, 7, 7, 32), g.input("r", 1, 28, 28, 32)
    windows = g.op("Reshape", x, g.ints(1, 4, 4, 7, 7, 32))
    rows = g.op("Transpose", windows, perm=[0, 1, 3, 2, 4, 5])
    g.output(g.op("Add", r, g.op("Reshape", rows, g.ints(1, 28, 28, 32))), 1, 28, 28, 32)
    return 4, 4, 7, 7 * 32


@chain(n=100)
def sine_positions(g: Graph) -> Dims:
    """DETR: sines and cosines of positions in turns."""
    frequencies = g.weight(1 / 10000 ** (np.arange(64) // 2 * 2 / 64))
    angles = g.op("Mul", g.input("x", "n", 1, scale=30), frequencies)
    ends = g.ints(64), g.ints(1), g.ints(2)
    even, odd = (g.op("Slice", angles, g.ints(k), *ends) for k in (0, 1))
    pair = [g.op("Unsqueeze", g.op(f, a), g.ints(2)) for f, a in (("Sin", even), ("Cos", odd))]
    g.output(g.op("Flatten", g.op("Concat", *pair, axis=2)), "n", 64)
    return "n", 64


@chain(n=64)
def masked_scores(g: Graph) -> Dims:
    """T5: scaled scores where a mask allows them."""
    x, mask = g.input("x", 1, 4, "n", "n"), g.input("mask", 1, 1, "n", "n", kind=BOOL)
    scores = g.op("Where", mask, g.op("Mul", x, g.const(0.125)), g.const(-1e9))
    g.output(scores, 1, 4, "n", "n")
    return 4, "n", "n"


@chain(n=64)
def gate_i8(g: Graph) -> Dims:
    """MiniLM, quantised: a gate between dequantising and quantising."""
    x, gate = (g.input(k, 1, "n", 256, kind=I8, scale=40) for k in ("x", "gate"))
    zero = g.const(0, np.int8)
    value = g.op("DequantizeLinear", x, g.const(0.05), zero)
    gate = g.op("Sigmoid", g.op("DequantizeLinear", gate, g.const(0.04), zero))
    y = g.op("QuantizeLinear", g.op("Mul", value, gate), g.const(0.03), zero)
    g.output(y, 1, "n", 256, kind=I8)
    return "n", 256


@chain()
def demodulate(g: Graph) -> Dims:
    """StyleGAN: a convolution's weights by a style, scaled to unit length by output channel."""
    style = g.input("style", 1, 1, 32, 1, 1)
    w = g.op("Mul", g.normal(1, 32, 32, 3, 3), style)
    squares = g.op("ReduceSum", g.op("Mul", w, w), g.ints(2, 3, 4), keepdims=1)
    scale = g.op("Reciprocal", g.op("Sqrt", g.op("Add", squares, g.const(1e-8))))
    g.output(g.op("Mul", w, scale), 1, 32, 32, 3, 3)
    return 32, 32, 9


@chain(b=2, n=100)
def modulate(g: Graph) -> Dims:
    """DiT: rows scaled and shifted by a condition of their image."""
    x = g.input("x", "b", "n", 192)
    scale, shift = (g.input(k, "b", 1, 192) for k in ("scale", "shift"))
    y = g.op("Mul", x, g.op("Add", scale, g.const(1)))
    g.output(g.op("Add", y, shift), "b", "n", 192)
    return "b", "n", 192


@chain(n=64)
def edge_scores(g: Graph) -> Dims:
    """GAT: LeakyReLU of a score of each pair of nodes, for each of four heads."""
    x, y = g.input("x", "n", 1, 4), g.input("y", 1, "n", 4)
    g.output(g.op("LeakyRelu", g.op("Add", x, y), alpha=0.2), "n", "n", 4)
    return "n", 4


@chain(n=128)
def distances(g: Graph) -> Dims:
    """DGCNN: negative squared distances from products and squares."""
    products = g.op("Mul", g.input("products", 1, "n", "n"), g.const(2))
    rows = g.op("Sub", products, g.input("rows", 1, "n", 1))
    g.output(g.op("Sub", rows, g.input("columns", 1, 1, "n")), 1, "n", "n")
    return "n", "n"


@chain(n=64)
def gate_f16(g: Graph) -> Dims:
    """Llama in f16: SiLU of one product times another one."""
    x, y = (g.input(k, "n", 256, kind=F16) for k in ("x", "y"))
    g.output(g.op("Mul", g.op("Mul", x, g.op("Sigmoid", x)), y), "n", 256, kind=F16)
    return "n", 256


@chain(n=64)
def residual_bf16(g: Graph) -> Dims:
    """DiT in bf16: a gated branch added to its input."""
    x, y = (g.input(k, "n", 256, kind=BF16) for k in ("x", "y"))
    gate = g.input("gate", 256, kind=BF16)
    g.output(g.op("Add", x, g.op("Mul", gate, y)), "n", 256, kind=BF16)
    return "n", 256


@chain(n=100)
def unit_rows(g: Graph) -> Dims:
    """CLIP: rows over their lengths."""
    x = g.input("x", "n", 192)
    length = g.op("Clip", g.op("ReduceL2", x, g.ints(1), keepdims=1), g.const(1e-12))
    g.output(g.op("Div", x, length), "n", 192)
    return "n", 192


@chain(h=28, w=28)
def squeeze_gate(g: Graph) -> Dims:
    """MobileNetV3: channels times the hard sigmoid of what they are squeezed to."""
    x, s = g.input("x", 1, 64, "h", "w"), g.input("s", 1, 64, 1, 1)
    g.output(g.op("Mul", x, g.op("HardSigmoid", s, alpha=1 / 6, beta=0.5)), 1, 64, "h", "w")
    return 64, "h", "w"


@chain(n=128)
def bucket_i32(g: Graph) -> Dims:
    """T5: buckets of relative positions."""
    x = g.input("x", "n", "n", kind=I32, scale=20)

    def i32(value: int) -> str:
        return g.const(value, np.int32)

    near = g.op("Abs", x)
    far = g.op("Min", g.op("Add", g.op("Div", near, i32(4)), i32(6)), i32(15))
    bucket = g.op("Where", g.op("Less", near, i32(8)), near, far)
    after = g.op("Where", g.op("Greater", x, i32(0)), i32(16), i32(0))
    g.output(g.op("Add", bucket, after), "n", "n", kind=I32)
    return "n", "n"


@chain(n=196)
def token_mean(g: Graph) -> Dims:
    """MLP-Mixer: the mean of all tokens."""
    g.output(g.op("ReduceMean", g.input("x", 1, "n", 192), g.ints(1), keepdims=0), 1, 192)
    return "n", 192
