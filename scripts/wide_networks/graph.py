"""A graph that is written as PyTorch's exporters write it, with weights drawn from a seed.

Two forms are known. ``old`` is the TorchScript exporter at opset 16: GELU and LayerNorm in pieces,
sizes by Shape, Gather and Unsqueeze, small constants in nodes. ``new`` is the dynamo exporter at
opset 20: Gelu and LayerNormalization, sizes by Shape with a range, constants in initializers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = {"old": 16, "new": 20}
MICROSOFT = "com.microsoft"
Sizes = Mapping[str, int]
Dim = int | str


@dataclass(frozen=True, slots=True)
class Input:
    """A graph's input: floats of a normal distribution, or integers below `high`."""

    name: str
    dims: tuple[Dim, ...]
    high: int | None
    scale: float

    def draw(self, sizes: Sizes, rng: np.random.Generator) -> np.ndarray:
        """An array whose open dims have these sizes."""
        shape = [sizes[d] if isinstance(d, str) else d for d in self.dims]
        if self.high is not None:
            return rng.integers(0, self.high, shape, dtype=np.int64)
        return (rng.standard_normal(shape) * self.scale).astype(np.float32)


@dataclass(slots=True)
class Graph:
    """Nodes, weights and ports of a graph that grows; every method returns names of values."""

    name: str
    form: str
    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    inputs: list[Input] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    @property
    def opset(self) -> int:
        return OPSETS[self.form]

    # ---- ports and values ---------------------------------------------------------------------

    def input(self, name: str, *dims: Dim, high: int | None = None, scale: float = 1.0) -> str:
        self.inputs.append(Input(name, dims, high, scale))
        return name

    def output(self, value: str, rank: int, name: str = "output", kind: int = TensorProto.FLOAT):
        """Make a value an output, its dims left open as exporters do for computed sizes."""
        self.nodes.append(helper.make_node("Identity", [value], [name], f"out_{name}"))
        dims = [f"{name}_{axis}" for axis in range(rank)]
        self.outputs.append(helper.make_tensor_value_info(name, kind, dims))

    def op(self, kind: str, *inputs: str, count: int = 1, domain: str = "", **attrs: Any) -> Any:
        """A node's value, or a list of `count` values."""
        stem = f"{kind.lower()}_{len(self.nodes)}"
        made = [stem] if count == 1 else [f"{stem}_{k}" for k in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, made, stem, domain=domain, **attrs))
        return made[0] if count == 1 else made

    def const(self, value: Any, dtype: Any = np.float32) -> str:
        array = np.asarray(value, dtype)
        if self.form == "old" and array.size <= 8:
            return str(self.op("Constant", value=numpy_helper.from_array(array)))
        return self.held(array)

    def ints(self, *values: int) -> str:
        return self.const(values, np.int64)

    def held(self, array: np.ndarray) -> str:
        """An initializer."""
        name = f"w{len(self.weights):03d}"
        self.weights[name] = array
        return name

    def weight(self, *shape: int, fan: int | None = None) -> str:
        """Uniform weights of variance 1 / `fan` (default: the first dim)."""
        bound = np.sqrt(3 / (fan or shape[0]))
        return self.held(self.rng.uniform(-bound, bound, shape).astype(np.float32))

    def bias(self, *shape: int, scale: float = 0.1, around: float = 0.0) -> str:
        drawn = around + self.rng.uniform(-scale, scale, shape)
        return self.held(drawn.astype(np.float32))

    # ---- shapes -------------------------------------------------------------------------------

    def size(self, x: str, axis: int) -> str:
        """A vector of the one size of an axis (not counted from the end)."""
        if self.form == "new":
            return str(self.op("Shape", x, start=axis, end=axis + 1))
        scalar = self.op("Gather", self.op("Shape", x), self.const(axis, np.int64), axis=0)
        return str(self.op("Unsqueeze", scalar, self.ints(0)))

    def reshape(self, x: str, *parts: Dim) -> str:
        """Parts are sizes, or names of vectors of sizes."""
        if all(isinstance(part, int) for part in parts):
            return str(self.op("Reshape", x, self.ints(*parts)))  # type: ignore[arg-type]
        words = [part if isinstance(part, str) else self.ints(part) for part in parts]
        return str(self.op("Reshape", x, self.op("Concat", *words, axis=0)))

    def transpose(self, x: str, *perm: int) -> str:
        return str(self.op("Transpose", x, perm=perm))

    def cut(self, x: str, begin: Dim, end: Dim, axis: int, step: int = 1) -> str:
        words = [part if isinstance(part, str) else self.ints(part) for part in (begin, end)]
        return str(self.op("Slice", x, *words, self.ints(axis), self.ints(step)))

    def split(self, x: str, parts: Sequence[int], axis: int) -> list[str]:
        return list(self.op("Split", x, self.ints(*parts), count=len(parts), axis=axis))

    def concat(self, *values: str, axis: int) -> str:
        return str(self.op("Concat", *values, axis=axis))

    def unsqueeze(self, x: str, *axes: int) -> str:
        return str(self.op("Unsqueeze", x, self.ints(*axes)))

    def squeeze(self, x: str, *axes: int) -> str:
        return str(self.op("Squeeze", x, self.ints(*axes)))

    def reduce(self, kind: str, x: str, *axes: int, keep: bool = True) -> str:
        if self.opset >= 18 or kind == "ReduceSum":
            return str(self.op(kind, x, self.ints(*axes), keepdims=int(keep)))
        return str(self.op(kind, x, axes=axes, keepdims=int(keep)))

    # ---- arithmetic ---------------------------------------------------------------------------

    def add(self, a: str, b: str) -> str:
        return str(self.op("Add", a, b))

    def mul(self, a: str, b: str) -> str:
        return str(self.op("Mul", a, b))

    def scaled(self, x: str, factor: float) -> str:
        return self.mul(x, self.const(factor))

    def relu(self, x: str) -> str:
        return str(self.op("Relu", x))

    def relu6(self, x: str) -> str:
        return str(self.op("Clip", x, self.const(0), self.const(6)))

    def silu(self, x: str) -> str:
        return self.mul(x, self.op("Sigmoid", x))

    def hard_swish(self, x: str) -> str:
        return str(self.op("HardSwish", x))

    def leaky(self, x: str) -> str:
        return str(self.op("LeakyRelu", x, alpha=0.1))

    def gelu(self, x: str) -> str:
        if self.form == "new":
            return str(self.op("Gelu", x))
        gate = self.op("Erf", self.op("Div", x, self.const(np.sqrt(2))))
        return self.scaled(self.mul(x, self.add(gate, self.const(1))), 0.5)

    def gelu_tanh(self, x: str) -> str:
        """GPT-2's: in pieces in either form, as its source has it."""
        cube = self.op("Pow", x, self.const(3))
        inner = self.scaled(self.add(x, self.scaled(cube, 0.044715)), np.sqrt(2 / np.pi))
        return self.mul(self.scaled(x, 0.5), self.add(self.op("Tanh", inner), self.const(1)))

    def glu(self, x: str, width: int, axis: int) -> str:
        value, gate = self.split(x, (width, width), axis)
        return self.mul(value, self.op("Sigmoid", gate))

    # ---- layers -------------------------------------------------------------------------------

    def conv(
        self, x: str, read: int, made: int, k: int | Sequence[int] = 1, stride: int = 1, *,
        groups: int = 1, dilation: int = 1, bias: bool = True, pads: Sequence[int] | None = None,
        rank: int = 2, act: Callable[[str], str] | None = None, gain: int = 0,
    ) -> str:  # fmt: skip
        """A convolution that keeps sizes (over the stride), and an activation."""
        kernel = [k] * rank if isinstance(k, int) else list(k)
        half = [(n - 1) * dilation // 2 for n in kernel]
        fan = read // groups * int(np.prod(kernel))
        gain = gain or (2 if act else 1)  # of the variance: an activation halves it
        words = [x, self.weight(made, read // groups, *kernel, fan=max(1, fan // gain))]
        words += [self.bias(made)] if bias else []
        y = self.op(
            "Conv", *words, kernel_shape=kernel, strides=[stride] * rank, group=groups,
            dilations=[dilation] * rank, pads=[*half, *half] if pads is None else pads,
        )  # fmt: skip
        return str(act(y) if act else y)

    def conv_transpose(
        self, x: str, read: int, made: int, k: int, stride: int, pad: int, rank: int = 2
    ) -> str:
        fan = max(1, read * k**rank // stride**rank)
        words = self.weight(read, made, *[k] * rank, fan=fan), self.bias(made)
        return str(
            self.op(
                "ConvTranspose", x, *words, kernel_shape=[k] * rank, strides=[stride] * rank,
                pads=[pad] * 2 * rank, dilations=[1] * rank, group=1,
            )
        )  # fmt: skip

    def linear(self, x: str, read: int, made: int, bias: bool = True) -> str:
        y = self.op("MatMul", x, self.weight(read, made))
        return self.add(self.bias(made), y) if bias else str(y)

    def gemm(self, x: str, read: int, made: int) -> str:
        """A linear layer of a matrix."""
        return str(self.op("Gemm", x, self.weight(made, read, fan=read), self.bias(made), transB=1))

    def norm(self, x: str, width: int) -> str:
        """LayerNorm of the last axis."""
        scale, shift = self.bias(width, scale=0.2, around=1), self.bias(width)
        if self.form == "new":
            return str(self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5))
        centred = self.op("Sub", x, self.reduce("ReduceMean", x, -1))
        square = self.reduce("ReduceMean", self.op("Pow", centred, self.const(2)), -1)
        deviation = self.op("Sqrt", self.add(square, self.const(1e-5)))
        return self.add(self.mul(self.op("Div", centred, deviation), scale), shift)

    def norm_channels(self, x: str, width: int) -> str:
        """LayerNorm of the channels of images, between two transposes."""
        return self.transpose(self.norm(self.transpose(x, 0, 2, 3, 1), width), 0, 3, 1, 2)

    def rms_norm(self, x: str, width: int) -> str:
        square = self.reduce("ReduceMean", self.op("Pow", x, self.const(2)), -1)
        root = self.op("Sqrt", self.add(square, self.const(1e-6)))
        scale = self.bias(width, scale=0.2, around=1)
        if self.form == "new":
            return self.mul(self.mul(x, self.op("Reciprocal", root)), scale)
        return self.mul(scale, self.mul(x, self.op("Div", self.const(1), root)))

    def group_norm(self, x: str, width: int, groups: int, rank: int = 2) -> str:
        flat = self.reshape(x, 0, groups, -1)
        ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        y = self.op("InstanceNormalization", flat, self.held(ones), self.held(zeros), epsilon=1e-5)
        y = self.op("Reshape", y, self.op("Shape", x))
        shape = (width, *[1] * rank)
        return self.add(self.mul(y, self.bias(*shape, scale=0.2, around=1)), self.bias(*shape))

    def pool(self, x: str) -> str:
        """Means of images as a matrix."""
        return str(self.op("Flatten", self.op("GlobalAveragePool", x), axis=1))

    def max_pool(self, x: str, k: int, stride: int, pad: int) -> str:
        size = {"kernel_shape": [k, k], "strides": [stride] * 2, "pads": [pad] * 4}
        return str(self.op("MaxPool", x, **size))

    def squeeze_excite(self, x: str, width: int, inner: int) -> str:
        y = self.conv(self.op("GlobalAveragePool", x), width, inner, act=self.relu)
        return self.mul(x, self.op("Sigmoid", self.conv(y, inner, width)))

    def upsample(self, x: str, mode: str = "nearest", factor: float = 2.0) -> str:
        near = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        attrs = near if mode == "nearest" else {"coordinate_transformation_mode": "half_pixel"}
        scales = self.held(np.asarray([1, 1, factor, factor], np.float32))
        return str(self.op("Resize", x, "", scales, mode=mode, **attrs))

    def resize_as(self, x: str, like: str, mode: str = "linear") -> str:
        """Images resized to another's height and width, which are computed."""
        channels = self.cut(self.op("Shape", x), 0, 2, 0)
        sides = self.cut(self.op("Shape", like), 2, 4, 0)
        sizes = self.concat(channels, sides, axis=0)
        return str(
            self.op("Resize", x, "", "", sizes, mode=mode,
                    coordinate_transformation_mode="half_pixel")
        )  # fmt: skip

    def tokens(self, x: str, width: int) -> str:
        """Images (n, width, h, w) as sequences (n, h * w, width)."""
        return self.transpose(self.reshape(x, self.size(x, 0), width, -1), 0, 2, 1)

    def images(self, x: str, width: int, like: str) -> str:
        """Sequences as images with the height and width of others."""
        sides = self.size(like, 2), self.size(like, 3)
        return self.reshape(self.transpose(x, 0, 2, 1), self.size(x, 0), width, *sides)

    def embed(self, ids: str, words: int, width: int) -> str:
        return str(self.op("Gather", self.weight(words, width, fan=1), ids, axis=0))

    # ---- attention ----------------------------------------------------------------------------

    def heads(self, x: str, heads: int, width: int) -> str:
        """(n, t, heads * width) -> (n, heads, t, width)."""
        split = self.reshape(x, self.size(x, 0), self.size(x, 1), heads, width)
        return self.transpose(split, 0, 2, 1, 3)

    def merged(self, x: str, width: int) -> str:
        """(n, heads, t, d) -> (n, t, width)."""
        y = self.transpose(x, 0, 2, 1, 3)
        return self.reshape(y, self.size(y, 0), self.size(y, 1), width)

    def attend(self, q: str, k: str, v: str, each: int, mask: str | None = None) -> str:
        """Softmax of the products of (n, heads, t, each), plus a mask, times `v`."""
        if self.form == "new":  # scaled_dot_product_attention: either factor is scaled
            q, k = self.scaled(q, each**-0.25), self.scaled(k, each**-0.25)
            score = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        else:
            score = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
            score = self.op("Div", score, self.const(each**0.5))
        if mask:
            score = self.add(score, mask)
        return str(self.op("MatMul", self.op("Softmax", score, axis=-1), v))

    def attention(
        self, x: str, width: int, heads: int, memory: str | None = None, mask: str | None = None
    ) -> str:
        """Attention of several heads to `memory`, by default to `x` itself."""
        each = width // heads
        other = memory or x
        q, k, v = (
            self.heads(self.linear(value, width, width), heads, each) for value in (x, other, other)
        )
        return self.linear(self.merged(self.attend(q, k, v, each, mask), width), width, width)

    def causal(self, x: str, axis: int = 1) -> str:
        """A mask (t, t) of 0 and -1e4 for sequences of the length of an axis of `x`."""
        length = self.squeeze(self.size(x, axis), 0)
        at = self.op("Range", self.const(0, np.int64), length, self.const(1, np.int64))
        later = self.op("Less", self.unsqueeze(at, 1), self.unsqueeze(at, 0))
        return str(self.op("Where", later, self.const(-1e4), self.const(0)))

    def feed(self, x: str, width: int, inner: int, act: Callable[[str], str] | None = None) -> str:
        return self.linear((act or self.gelu)(self.linear(x, width, inner)), inner, width)

    def block(self, x: str, width: int, heads: int, mask: str | None = None) -> str:
        """A transformer's layer that normalizes first."""
        x = self.add(x, self.attention(self.norm(x, width), width, heads, mask=mask))
        return self.add(x, self.feed(self.norm(x, width), width, 4 * width))

    # ---- the model ----------------------------------------------------------------------------

    def model(self) -> onnx.ModelProto:
        kinds = {True: TensorProto.FLOAT, False: TensorProto.INT64}
        ports = [
            helper.make_tensor_value_info(i.name, kinds[i.high is None], i.dims)
            for i in self.inputs
        ]
        held = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, self.name, ports, self.outputs, held)
        opsets = [helper.make_opsetid("", self.opset)]
        if any(node.domain == MICROSOFT for node in self.nodes):
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        version = 8 if self.form == "old" else 10
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=version, producer_name="wide_zoo"
        )


@dataclass(frozen=True, slots=True)
class Network:
    """A network of the zoo: what draws it, the exporter's form, and sizes of its open dims."""

    name: str
    draw: Callable[[Graph], None]
    form: str
    sizes: tuple[Sizes, ...]

    def build(self, seed: int = 0) -> Graph:
        """The graph of a seed; equal seeds give equal bytes."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        graph = Graph(self.name, self.form, rng)
        self.draw(graph)
        return graph

    def arrays(self, sizes: Sizes, seed: int = 0) -> dict[str, np.ndarray]:
        """Inputs for some sizes of the open dims."""
        rng = np.random.default_rng([seed, 1, *sizes.values()])
        return {port.name: port.draw(sizes, rng) for port in self.build(seed).inputs}


#: The networks by their names, in the order of their modules.
NETWORKS: dict[str, Network] = {}


def network(form: str, *sizes: Sizes) -> Callable[[Callable[[Graph], None]], Callable]:
    """A decorator: the function draws a network of its own name; no `sizes` for fixed dims."""

    def note(draw: Callable[[Graph], None]) -> Callable[[Graph], None]:
        _note(draw.__name__, draw, form, sizes)
        return draw

    return note


def network_of_both(*sizes: Sizes) -> Callable[[Callable[[Graph], None]], Callable]:
    """A decorator: a network of the function's name in the old form, and ``.._new`` in the new."""

    def note(draw: Callable[[Graph], None]) -> Callable[[Graph], None]:
        _note(draw.__name__, draw, "old", sizes)
        _note(f"{draw.__name__}_new", draw, "new", sizes)
        return draw

    return note


def _note(name: str, draw: Callable[[Graph], None], form: str, sizes: tuple[Sizes, ...]) -> None:
    assert name not in NETWORKS, name
    NETWORKS[name] = Network(name, draw, form, sizes or ({},))
