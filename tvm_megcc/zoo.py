"""Reference architectures with seeded random weights, so that a demo, a test and a benchmark agree.

Enters: a name, a batch, an image size, a seed. Leaves: an ONNX ``ModelProto`` (opset 13) with the
input ``input`` (NCHW float32) and the output ``output``. The same arguments give the same bytes.
The weights are drawn, not trained: the models measure a compiler, they recognise nothing.

Example
-------
>>> build("tiny_mlp").graph.output[0].name
'output'

From a shell: ``python -m tvm_megcc.zoo OUTDIR mobilenet_v2 resnet18 --size 160``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc.errors import InputError

Size = int | str


class _Layers:
    """Appends nodes to a graph; every method takes and returns value names."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.channels: dict[str, int] = {}

    def weight(self, role: str, array: np.ndarray) -> str:
        name = f"{role}_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def add(self, op: str, *inputs: str, channels: int = 0, **attrs: Any) -> str:
        out = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attrs))
        self.channels[out] = channels or self.channels.get(inputs[0], 0)
        return out

    def drawn(self, role: str, *shape: int, fan_in: int) -> str:
        """He-initialised weights: activations keep their magnitude through the depth."""
        return self.weight(role, self.rng.standard_normal(shape) * math.sqrt(2.0 / fan_in))

    def conv(self, x: str, out: int, k: int = 1, stride: int = 1, depthwise: bool = False) -> str:
        cin = self.channels[x]
        group = cin if depthwise else 1
        fan_in = cin // group * k * k
        kernel = self.drawn("kernel", out, cin // group, k, k, fan_in=fan_in)
        bias = self.weight("bias", self.rng.standard_normal(out) * 0.01)
        return self.add(
            "Conv", x, kernel, bias, channels=out,
            kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4, group=group,
        )  # fmt: skip

    def relu(self, x: str) -> str:
        return self.add("Relu", x)

    def relu6(self, x: str) -> str:
        low, high = self.weight("low", np.array(0.0)), self.weight("high", np.array(6.0))
        return self.add("Clip", x, low, high)

    def norm(self, x: str) -> str:
        c = self.channels[x]
        scale, shift, mean = (self.weight("norm", self.rng.uniform(0.5, 1.5, c)) for _ in range(3))
        var = self.weight("var", self.rng.uniform(0.5, 2.0, c))
        return self.add("BatchNormalization", x, scale, shift, mean, var)

    def dense(self, x: str, out: int) -> str:
        cin = self.channels[x]
        kernel = self.drawn("kernel", out, cin, fan_in=cin)
        bias = self.weight("bias", self.rng.standard_normal(out) * 0.01)
        return self.add("Gemm", x, kernel, bias, channels=out, transB=1)

    def classify(self, x: str, classes: int) -> str:
        pooled = self.add("GlobalAveragePool", x)
        return self.dense(self.add("Flatten", pooled, axis=1), classes)


def _mobilenet_v1(g: _Layers, x: str) -> str:
    x = g.relu(g.conv(x, 32, 3, 2))
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    plan += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for out, stride in plan:
        x = g.relu(g.conv(x, g.channels[x], 3, stride, depthwise=True))
        x = g.relu(g.conv(x, out))
    return g.classify(x, 1000)


def _inverted_residual(g: _Layers, x: str, expand: int, out: int, stride: int) -> str:
    cin = g.channels[x]
    y = x if expand == 1 else g.relu6(g.conv(x, cin * expand))
    y = g.relu6(g.conv(y, cin * expand, 3, stride, depthwise=True))
    y = g.conv(y, out)
    return g.add("Add", y, x) if stride == 1 and cin == out else y


def _mobilenet_v2(g: _Layers, x: str) -> str:
    x = g.relu6(g.conv(x, 32, 3, 2))
    rows = [
        # expand, channels, blocks, stride of the first
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
        (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ]  # fmt: skip
    for expand, out, blocks, stride in rows:
        for block in range(blocks):
            x = _inverted_residual(g, x, expand, out, 1 if block else stride)
    return g.classify(g.relu6(g.conv(x, 1280)), 1000)


def _basic_block(g: _Layers, x: str, mid: int, stride: int) -> str:
    return g.conv(g.relu(g.conv(x, mid, 3, stride)), mid, 3)


def _bottleneck(g: _Layers, x: str, mid: int, stride: int) -> str:
    y = g.relu(g.conv(x, mid))
    return g.conv(g.relu(g.conv(y, mid, 3, stride)), 4 * mid)


def _resnet(block: Callable[[_Layers, str, int, int], str], depths: list[int]) -> Body:
    def body(g: _Layers, x: str) -> str:
        x = g.relu(g.conv(x, 64, 7, 2))
        x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for stage, depth in enumerate(depths):
            for i in range(depth):
                stride = 2 if stage and not i else 1
                y = block(g, x, 64 << stage, stride)
                same = stride == 1 and g.channels[x] == g.channels[y]
                skip = x if same else g.conv(x, g.channels[y], 1, stride)
                x = g.relu(g.add("Add", y, skip))
        return g.classify(x, 1000)

    return body


def _tiny_cnn(g: _Layers, x: str) -> str:
    x = g.relu(g.conv(x, 8, 3, 2))
    x = g.relu6(g.conv(x, 8, 3, 1, depthwise=True))
    x = g.add("MaxPool", g.relu(g.conv(x, 16)), kernel_shape=[2, 2], strides=[2, 2])
    return g.add("Softmax", g.classify(x, 10), axis=1)


def _tiny_residual(g: _Layers, x: str) -> str:
    x = g.relu(g.norm(g.conv(x, 12, 3, 2)))
    y = g.norm(g.conv(g.relu(g.norm(g.conv(x, 12, 3))), 12, 3))
    x = g.relu(g.add("Add", y, x))
    x = g.add("Concat", x, g.add("Sigmoid", g.conv(x, 4)), axis=1, channels=16)
    return g.classify(x, 10)


def _tiny_mlp(g: _Layers, x: str) -> str:
    x = g.add("Flatten", x, axis=1, channels=3 * 8 * 8)
    return g.dense(g.add("Tanh", g.dense(x, 16)), 4)


Body = Callable[[_Layers, str], str]


@dataclass(frozen=True, slots=True)
class _Architecture:
    body: Body
    size: int
    classes: int
    fixed_size: bool = False


_ARCHITECTURES = {
    "mobilenet_v1": _Architecture(_mobilenet_v1, 224, 1000),
    "mobilenet_v2": _Architecture(_mobilenet_v2, 224, 1000),
    "resnet18": _Architecture(_resnet(_basic_block, [2, 2, 2, 2]), 224, 1000),
    "resnet50": _Architecture(_resnet(_bottleneck, [3, 4, 6, 3]), 224, 1000),
    "tiny_cnn": _Architecture(_tiny_cnn, 32, 10),
    "tiny_residual": _Architecture(_tiny_residual, 32, 10),
    "tiny_mlp": _Architecture(_tiny_mlp, 8, 4, fixed_size=True),
}

#: Every name that `build` knows.
NAMES = tuple(_ARCHITECTURES)


def build(name: str, batch: Size = 1, size: Size | None = None, seed: int = 0) -> onnx.ModelProto:
    """Build the architecture `name`.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    batch : int or str
        A number, or a name such as ``"N"`` that leaves the batch symbolic.
    size : int, str or None
        Height and width in pixels; any string leaves them symbolic as ``"H"`` and ``"W"``;
        None is the architecture's own size (224, or less for the tiny ones).
    seed : int
        Of the random weights.

    Raises
    ------
    InputError
        The name is unknown, or the architecture has one size only.
    """
    known = _ARCHITECTURES.get(name)
    if known is None:
        raise InputError(f"zoo: no architecture {name!r}; choose from {', '.join(NAMES)}")
    size = known.size if size is None else size
    if known.fixed_size and size != known.size:
        raise InputError(f"zoo: {name!r} exists for size {known.size} only; leave the size out")

    g = _Layers(seed)
    g.channels["input"] = 3
    last = known.body(g, "input")
    for node in g.nodes:
        if node.output[0] == last:
            node.output[0] = "output"
    spatial = ["H", "W"] if isinstance(size, str) else [size, size]
    graph = helper.make_graph(
        g.nodes,
        name,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, 3, *spatial])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [batch, known.classes])],
        g.weights,
    )
    model = helper.make_model(
        graph,
        producer_name="tvm_megcc.zoo",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 13)],
    )
    onnx.checker.check_model(model)
    return model


class _DecoderLayers(_Layers):
    """Layers of a decoder with a cache; values are [1, tokens, hidden]."""

    def __init__(self, seed: int, hidden: int, heads: int) -> None:
        super().__init__(seed)
        self.hidden, self.heads = hidden, heads

    def product(self, x: str, rows: int, columns: int) -> str:
        return self.add("MatMul", x, self.drawn("weight", rows, columns, fan_in=2 * rows))

    def normed(self, x: str) -> str:
        scale = self.weight("scale", 1 + 0.1 * self.rng.standard_normal(self.hidden))
        return self.add("LayerNormalization", x, scale, axis=-1)

    def ints(self, *values: int) -> str:
        name = f"ints_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def per_head(self, x: str) -> str:
        size = self.hidden // self.heads
        apart = self.add("Reshape", x, self.ints(0, 0, self.heads, size))
        return self.add("Transpose", apart, perm=[0, 2, 1, 3])

    def attention(self, x: str, mask: str, layer: int) -> str:
        """Attention over the cache of a layer, to which this run's tokens are appended."""
        n = self.hidden
        query, key, value = (self.per_head(self.product(x, n, n)) for _ in range(3))
        for new, role in ((key, "key"), (value, "value")):
            ends = [f"past_key_values.{layer}.{role}", new], [f"present.{layer}.{role}"]
            self.nodes.append(helper.make_node("Concat", *ends, axis=2))
        across = self.add("Transpose", f"present.{layer}.key", perm=[0, 1, 3, 2])
        scale = self.weight("factor", np.array((n // self.heads) ** -0.5))
        scores = self.add("Mul", self.add("MatMul", query, across), scale)
        shares = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        read = self.add("MatMul", shares, f"present.{layer}.value")
        together = self.add("Transpose", read, perm=[0, 2, 1, 3])
        return self.product(self.add("Reshape", together, self.ints(0, 0, n)), n, n)

    def causal_mask(self) -> str:
        """0 where a token may read another one, else a large negative number."""
        total = self.add("Shape", "attention_mask", start=1)
        zero, one = self.ints(0), self.ints(1)
        scalars = [self.add("Squeeze", value) for value in (zero, total, one)]
        keys = self.add("Range", *scalars)
        queries = self.add("Unsqueeze", "position_ids", self.ints(2))
        seen = self.add("LessOrEqual", keys, queries)
        real = self.add("Unsqueeze", self.add("Cast", "attention_mask", to=TensorProto.BOOL), one)
        both = self.add("And", seen, real)
        low, none = self.weight("low", np.array(-1e9)), self.weight("none", np.array(0.0))
        return self.add("Unsqueeze", self.add("Where", both, none, low), one)


def decoder(
    vocabulary: int = 272, layers: int = 2, hidden: int = 32, heads: int = 4, seed: int = 0
) -> onnx.ModelProto:
    """Build a language model with a cache, in the operators that optimum writes.

    Parameters
    ----------
    vocabulary : int
        Number of logits.
    layers, hidden, heads : int
        `hidden` is a multiple of `heads`.
    seed : int
        Of the random weights.

    Returns
    -------
    onnx.ModelProto
        Inputs ``input_ids``, ``attention_mask``, ``position_ids``, ``past_key_values.N.key`` and
        ``.value``; outputs ``logits``, ``present.N.key`` and ``.value``; positions below 4096.
    """
    g = _DecoderLayers(seed, hidden, heads)
    words = g.drawn("words", vocabulary, hidden, fan_in=2)
    places = g.drawn("places", 4096, hidden, fan_in=8)
    x = g.add("Add", g.add("Gather", words, "input_ids"), g.add("Gather", places, "position_ids"))
    mask = g.causal_mask()
    for layer in range(layers):
        x = g.add("Add", x, g.attention(g.normed(x), mask, layer))
        inside = g.add("Relu", g.product(g.normed(x), hidden, 2 * hidden))
        x = g.add("Add", x, g.product(inside, 2 * hidden, hidden))
    logits = g.product(g.normed(x), hidden, vocabulary)
    g.nodes.append(helper.make_node("Identity", [logits], ["logits"]))

    def port(name: str, *dims: Size, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, list(dims))

    ids = [("input_ids", "tokens"), ("attention_mask", "total"), ("position_ids", "tokens")]
    inputs = [port(name, 1, dim, kind=TensorProto.INT64) for name, dim in ids]
    outputs = [port("logits", 1, "tokens", vocabulary)]
    for layer in range(layers):
        for role in ("key", "value"):
            rest = hidden // heads
            inputs.append(port(f"past_key_values.{layer}.{role}", 1, heads, "past", rest))
            outputs.append(port(f"present.{layer}.{role}", 1, heads, "total", rest))
    model = helper.make_model(
        helper.make_graph(g.nodes, "decoder", inputs, outputs, g.weights),
        producer_name="tvm_megcc.zoo",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    onnx.checker.check_model(model)
    return model


def _size(text: str) -> Size:
    return int(text) if text.lstrip("-").isdigit() else text


def main(argv: list[str] | None = None) -> int:
    """Write the named architectures to a directory as ``NAME.onnx``."""
    parser = argparse.ArgumentParser(
        prog="python -m tvm_megcc.zoo", description="Reference architectures with random weights."
    )
    parser.add_argument("outdir", type=Path)
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--batch", type=_size, default=1, help="a number, or a name: symbolic")
    parser.add_argument("--size", type=_size, help="a number, or H: symbolic height and width")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    try:
        models = {n: build(n, args.batch, args.size, args.seed) for n in args.names}
    except InputError as error:
        parser.exit(1, f"{error}\n")
    args.outdir.mkdir(parents=True, exist_ok=True)
    for name, model in models.items():
        path = args.outdir / f"{name}.onnx"
        onnx.save(model, path)
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
