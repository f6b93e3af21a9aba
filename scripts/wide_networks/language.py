"""Networks of text: encoders, decoders with a cache, quantised, state spaces, bags of words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper

from .graph import MICROSOFT, Graph, network

ANY_TEXT = {"batch": 1, "sequence": 12}, {"batch": 2, "sequence": 29}
ANY_CACHE = {"batch": 1, "past": 7}, {"batch": 2, "past": 20}


def additive_mask(g: Graph, mask: str) -> str:
    """(n, t) of 1 and 0 as (n, 1, 1, t) of 0 and -1e4, as Transformers' encoders do."""
    y = g.op("Cast", g.unsqueeze(mask, 1, 2), to=TensorProto.FLOAT)
    return g.scaled(g.op("Sub", g.const(1), y), -1e4)


def text_input(g: Graph, width: int, words: int = 500) -> tuple[str, str]:
    """The embedded tokens, and the mask."""
    ids = g.input("input_ids", "batch", "sequence", high=words)
    mask = g.input("attention_mask", "batch", "sequence", high=2)
    table = g.weight(64, width, fan=4)
    positions = g.held(np.arange(64, dtype=np.int64)[None])
    at = g.cut(positions, 0, g.size(ids, 1), 1)
    y = g.add(g.embed(ids, words, width), g.op("Gather", table, at, axis=0))
    return g.norm(y, width), mask


def encoder(g: Graph, width: int, layers: int) -> tuple[str, str]:
    """BERT's layers, which normalize last; and the mask."""
    y, mask = text_input(g, width)
    added = additive_mask(g, mask)
    for _ in range(layers):
        y = g.norm(g.add(g.attention(y, width, width // 32, mask=added), y), width)
        y = g.norm(g.add(g.feed(y, width, 4 * width), y), width)
    return y, mask


def mean_of_tokens(g: Graph, y: str, mask: str) -> str:
    """The mean of the tokens whose mask is 1, as sentence encoders have it, of length 1."""
    like = g.op("Expand", g.unsqueeze(mask, 2), g.op("Shape", y))
    weights = g.op("Cast", like, to=TensorProto.FLOAT)
    total = g.reduce("ReduceSum", g.mul(y, weights), 1, keep=False)
    count = g.op("Clip", g.reduce("ReduceSum", weights, 1, keep=False), g.const(1e-9))
    mean = g.op("Div", total, count)
    length = g.op("Clip", g.op("ReduceL2", mean, **_axes(g)), g.const(1e-12))
    return str(g.op("Div", mean, g.op("Expand", length, g.op("Shape", mean))))


def _axes(g: Graph) -> dict[str, list[int]]:
    assert g.form == "old", "ReduceL2 has its axes as an attribute before opset 18"
    return {"axes": [1]}


@network("old", *ANY_TEXT)
def bert(g: Graph) -> None:
    y, _ = encoder(g, 128, 2)
    g.output(y, 3, "last_hidden_state")
    first = g.op("Gather", y, g.const(0, np.int64), axis=1)
    g.output(g.op("Tanh", g.gemm(first, 128, 128)), 2, "pooler_output")


@network("old", *ANY_TEXT)
def minilm(g: Graph) -> None:
    g.output(mean_of_tokens(g, *encoder(g, 96, 3)), 2)


class Qdq(Graph):
    """A graph whose linear layers have 8 bits: between QuantizeLinear and DequantizeLinear."""

    __slots__ = ()

    def through(self, x: str, scale: float) -> str:
        words = self.const(scale), self.const(128, np.uint8)
        return str(self.op("DequantizeLinear", self.op("QuantizeLinear", x, *words), *words))

    def linear(self, x: str, read: int, made: int, bias: bool = True) -> str:
        kernel = self.rng.integers(-127, 128, (read, made), dtype=np.int8)
        # Integers of +-127 have a deviation of 73.
        scales = self.rng.uniform(0.8, 1.2, made).astype(np.float32) / np.float32(73 * read**0.5)
        zeros = self.held(np.zeros(made, np.int8))
        weights = self.op("DequantizeLinear", self.held(kernel), self.held(scales), zeros, axis=1)
        y = self.op("MatMul", self.through(x, 6 / 128), weights)
        return self.add(self.bias(made), y) if bias else str(y)


def minilm_qdq(g: Graph) -> None:
    q = Qdq(g.name, g.form, g.rng, g.nodes, g.weights, g.inputs, g.outputs)
    q.output(mean_of_tokens(q, *encoder(q, 96, 2)), 2)


network("old", *ANY_TEXT)(minilm_qdq)


def int4(g: Graph, x: str, read: int, made: int, block: int = 32) -> str:
    """A linear layer of 4-bit weights, as ONNX Runtime's MatMulNBits has them."""
    blocks = read // block
    packed = g.held(g.rng.integers(0, 256, (made, blocks, block // 2), dtype=np.uint8))
    # Integers of 0..15 around 8 have a deviation of 4.6.
    scales = g.rng.uniform(0.8, 1.2, made * blocks).astype(np.float32)
    scales /= np.float32(4.6 * read**0.5)
    attrs = {"K": read, "N": made, "bits": 4, "block_size": block}
    return str(g.op("MatMulNBits", x, packed, g.held(scales), domain=MICROSOFT, **attrs))


class Int4(Graph):
    """A graph whose linear layers have weights of 4 bits."""

    __slots__ = ()

    def linear(self, x: str, read: int, made: int, bias: bool = True) -> str:
        y = int4(self, x, read, made)
        return self.add(self.bias(made), y) if bias else y


@network("old", *ANY_TEXT)
def minilm_int4(g: Graph) -> None:
    q = Int4(g.name, g.form, g.rng, g.nodes, g.weights, g.inputs, g.outputs)
    q.output(mean_of_tokens(q, *encoder(q, 96, 2)), 2)


def cached(g: Graph, name: str, heads: int, each: int, new: str) -> str:
    """The past of an input of the cache and what is new; the joined is an output, too."""
    past = g.input(f"past_{name}", "batch", heads, "past", each)
    joined = g.concat(past, new, axis=2)
    g.output(joined, 4, f"present_{name}")
    return joined


@network("old", *ANY_CACHE)
def gpt2_step(g: Graph) -> None:
    """GPT-2 with a cache, one new token."""
    width, heads = 128, 4
    ids = g.input("input_ids", "batch", 1, high=500)
    past = g.input("past_0_key", "batch", heads, "past", 32)
    count = g.size(past, 2)
    place = g.op("Gather", g.weight(64, width, fan=4), g.unsqueeze(count, 0), axis=0)
    y = g.add(g.embed(ids, 500, width), place)
    for k in range(2):
        qkv = g.gemm(g.reshape(g.norm(y, width), -1, width), width, 3 * width)
        parts = g.split(g.reshape(qkv, g.size(y, 0), 1, 3 * width), (width,) * 3, 2)
        q, key, value = (g.heads(part, heads, 32) for part in parts)
        if k == 0:
            key = g.concat(past, key, axis=2)
            g.output(key, 4, "present_0_key")
        else:
            key = cached(g, f"{k}_key", heads, 32, key)
        value = cached(g, f"{k}_value", heads, 32, value)
        y = g.add(y, g.linear(g.merged(g.attend(q, key, value, 32), width), width, width))
        y = g.add(y, g.feed(g.norm(y, width), width, 4 * width, g.gelu_tanh))
    g.output(g.linear(g.norm(y, width), width, 500, bias=False), 3, "logits")


@network("old", *ANY_TEXT)
def gpt2_prompt(g: Graph) -> None:
    width = 128
    ids = g.input("input_ids", "batch", "sequence", high=500)
    mask = g.causal(ids)
    at = g.cut(g.held(np.arange(64, dtype=np.int64)[None]), 0, g.size(ids, 1), 1)
    y = g.add(g.embed(ids, 500, width), g.op("Gather", g.weight(64, width, fan=4), at, axis=0))
    for _ in range(2):
        y = g.add(y, g.attention(g.norm(y, width), width, 4, mask=mask))
        y = g.add(y, g.feed(g.norm(y, width), width, 4 * width, g.gelu_tanh))
    g.output(g.linear(g.norm(y, width), width, 500, bias=False), 3, "logits")


def rotated(g: Graph, x: str, cos: str, sin: str, each: int) -> str:
    """Rotary positions: x * cos + (-second half, first half) * sin."""
    first, second = g.cut(x, 0, each // 2, 3), g.cut(x, each // 2, 2**63 - 1, 3)
    turned = g.concat(g.op("Neg", second), first, axis=3)
    return g.add(g.mul(x, cos), g.mul(turned, sin))


def rotary(g: Graph, positions: str, each: int) -> tuple[str, str]:
    """Cosines and sines (n, 1, t, each) of positions (n, t)."""
    inverse = 10000.0 ** -(np.arange(0, each, 2) / each)
    at = g.unsqueeze(g.op("Cast", positions, to=TensorProto.FLOAT), 1)
    angles = g.op("MatMul", g.held(inverse.astype(np.float32)[None, :, None]), at)
    angles = g.transpose(angles, 0, 2, 1)
    angles = g.unsqueeze(g.concat(angles, angles, axis=-1), 1)
    return g.op("Cos", angles), g.op("Sin", angles)


def repeated(g: Graph, x: str, kv: int, times: int, each: int) -> str:
    """Heads of keys or values, each for `times` heads of queries (repeat_kv)."""
    sizes = g.size(x, 0), g.size(x, 2)
    shape = g.concat(sizes[0], g.ints(kv), g.ints(times), sizes[1], g.ints(each), axis=0)
    wide = g.op("Expand", g.unsqueeze(x, 2), shape)
    return g.reshape(wide, sizes[0], kv * times, sizes[1], each)


def llama_net(g: Graph, linear: Callable[..., str], *, step: bool, qk_norm: bool = False) -> None:
    """RMSNorm in pieces, rotary positions, grouped queries, SwiGLU; with a cache where `step`."""
    width, heads, kv, each = 128, 4, 2, 32
    length: int | str = 1 if step else "sequence"
    ids = g.input("input_ids", "batch", length, high=500)
    positions = g.input("position_ids", "batch", length, high=64)
    cos, sin = rotary(g, positions, each)
    mask = None if step else g.causal(ids)
    y = g.embed(ids, 500, width)
    for n in range(2):
        z = g.rms_norm(y, width)
        q, k, v = (
            g.heads(linear(z, width, count * each, False), count, each) for count in (heads, kv, kv)
        )
        if qk_norm:
            q, k = g.rms_norm(q, each), g.rms_norm(k, each)
        q, k = rotated(g, q, cos, sin, each), rotated(g, k, cos, sin, each)
        if step:
            k = cached(g, f"{n}_key", kv, each, k)
            v = cached(g, f"{n}_value", kv, each, v)
        k, v = (repeated(g, x, kv, heads // kv, each) for x in (k, v))
        y = g.add(y, linear(g.merged(g.attend(q, k, v, each, mask), width), width, width, False))
        z = g.rms_norm(y, width)
        gate = g.silu(linear(z, width, 320, False))
        y = g.add(y, linear(g.mul(gate, linear(z, width, 320, False)), 320, width, False))
    g.output(linear(g.rms_norm(y, width), width, 500, False), 3, "logits")


@network("old", *ANY_CACHE)
def llama_step(g: Graph) -> None:
    llama_net(g, g.linear, step=True)


@network("new", *ANY_TEXT)
def llama_prompt(g: Graph) -> None:
    llama_net(g, g.linear, step=False)


@network("new", *ANY_CACHE)
def llama_step_int4(g: Graph) -> None:
    llama_net(g, lambda x, read, made, bias: int4(g, x, read, made), step=True)


@network("new", *ANY_CACHE)
def qwen3_step(g: Graph) -> None:
    llama_net(g, g.linear, step=True, qk_norm=True)


@network("old", *ANY_TEXT)
def clip_text(g: Graph) -> None:
    """The token with the largest number ends the text: its vector is the text's."""
    width = 128
    ids = g.input("input_ids", "batch", "sequence", high=500)
    at = g.cut(g.held(np.arange(77, dtype=np.int64)[None]), 0, g.size(ids, 1), 1)
    y = g.add(g.embed(ids, 500, width), g.op("Gather", g.weight(77, width, fan=4), at, axis=0))
    mask = g.causal(ids)
    for _ in range(2):
        y = g.add(y, g.attention(g.norm(y, width), width, 4, mask=mask))
        y = g.add(
            y,
            g.feed(
                g.norm(y, width), width, 4 * width,
                lambda z: g.mul(z, g.op("Sigmoid", g.scaled(z, 1.702))),
            ),
        )  # fmt: skip
    y = g.norm(y, width)
    end = g.op("ArgMax", ids, axis=-1, keepdims=0)
    first = g.op("Range", g.const(0, np.int64), g.squeeze(g.size(ids, 0), 0), g.const(1, np.int64))
    pairs = g.concat(g.unsqueeze(first, 1), g.unsqueeze(end, 1), axis=1)
    g.output(g.linear(g.op("GatherND", y, pairs), width, 64, bias=False), 2)


def t5_bias(g: Graph, ids: str, heads: int) -> str:
    """T5's bias of relative positions: buckets that grow with the logarithm of the distance."""
    length = g.squeeze(g.size(ids, 1), 0)
    at = g.op("Range", g.const(0, np.int64), length, g.const(1, np.int64))
    apart = g.op("Sub", g.unsqueeze(at, 0), g.unsqueeze(at, 1))
    right = g.op("Cast", g.op("Greater", apart, g.const(0, np.int64)), to=TensorProto.INT64)
    far = g.op("Abs", apart)
    small = g.op("Less", far, g.const(8, np.int64))
    part = g.op("Log", g.op("Div", g.op("Cast", far, to=TensorProto.FLOAT), g.const(8.0)))
    part = g.scaled(g.op("Div", part, g.const(np.log(16.0))), 8)
    large = g.op("Add", g.op("Cast", part, to=TensorProto.INT64), g.const(8, np.int64))
    large = g.op("Min", large, g.const(15, np.int64))
    bucket = g.add(g.op("Mul", right, g.const(16, np.int64)), g.op("Where", small, far, large))
    return g.unsqueeze(g.transpose(g.embed(bucket, 32, heads), 2, 0, 1), 0)


@network("old", *ANY_TEXT)
def t5_encoder(g: Graph) -> None:
    """No bias in the layers, RMSNorm, products that are not scaled, relative positions."""
    width, heads, each = 128, 4, 32
    ids = g.input("input_ids", "batch", "sequence", high=500)
    mask = g.input("attention_mask", "batch", "sequence", high=2)
    added = g.add(t5_bias(g, ids, heads), additive_mask(g, mask))
    y = g.embed(ids, 500, width)
    for _ in range(2):
        z = g.rms_norm(y, width)
        q, k, v = (g.heads(g.linear(z, width, width, False), heads, each) for _ in range(3))
        score = g.op("MatMul", g.scaled(q, each**-0.5), g.transpose(k, 0, 1, 3, 2))
        weights = g.op("Softmax", g.add(score, added), axis=-1)
        z = g.merged(g.op("MatMul", weights, v), width)
        y = g.add(y, g.linear(z, width, width, False))
        z = g.linear(g.rms_norm(y, width), width, 256, False)
        y = g.add(y, g.linear(g.relu(z), 256, width, False))
    g.output(g.rms_norm(y, width), 3)


def mamba_net(g: Graph, scan: Callable[[str, str, str], str]) -> None:
    """A block of a selective state space; `scan` sums (n, t, d, s) and the (n, t, s) read-outs."""
    width, inner, state = 32, 64, 8
    x = g.input("x", "batch", 16, width)
    z = g.linear(g.rms_norm(x, width), width, 2 * inner, False)
    y, gate = g.split(z, (inner, inner), 2)
    y = g.conv(g.transpose(y, 0, 2, 1), inner, inner, 4, groups=inner, rank=1, pads=[3, 3])
    y = g.silu(g.transpose(g.cut(y, 0, 16, 2), 0, 2, 1))
    delta, b, c = g.split(g.linear(y, inner, 4 + 2 * state, False), (4, state, state), 2)
    delta = g.unsqueeze(g.op("Softplus", g.linear(delta, 4, inner)), 3)
    decay = g.op("Neg", g.op("Exp", g.bias(inner, state, scale=0.5)))
    decay = g.op("Exp", g.mul(delta, decay))
    fed = g.mul(g.mul(delta, g.unsqueeze(b, 2)), g.unsqueeze(y, 3))
    found = g.add(scan(decay, fed, c), g.mul(y, g.bias(inner, around=1)))
    z = g.linear(g.mul(found, g.silu(gate)), inner, width, False)
    g.output(g.add(x, z), 3)


@network("new", *({"batch": n} for n in (1, 2)))
def mamba_unrolled(g: Graph) -> None:
    def scan(decay: str, fed: str, c: str) -> str:
        found, held = [], ""
        for t in range(16):
            one, more = (g.op("Gather", v, g.const(t, np.int64), axis=1) for v in (decay, fed))
            held = g.add(g.mul(one, held), more) if held else more
            out = g.unsqueeze(g.op("Gather", c, g.const(t, np.int64), axis=1), 2)
            found.append(g.op("MatMul", held, out))
        return g.transpose(g.concat(*found, axis=2), 0, 2, 1)

    mamba_net(g, scan)


@network("new", *({"batch": n} for n in (1, 2)))
def mamba_scan(g: Graph) -> None:
    """The same as an operator Scan over the tokens."""

    def scan(decay: str, fed: str, c: str) -> str:
        info = helper.make_tensor_value_info
        nodes = [
            helper.make_node("Mul", ["d", "h"], ["kept"]),
            helper.make_node("Add", ["kept", "f"], ["next"]),
            helper.make_node("Unsqueeze", ["o", "two"], ["column"]),
            helper.make_node("MatMul", ["next", "column"], ["product"]),
            helper.make_node("Squeeze", ["product", "two"], ["y"]),
        ]
        ports = [info(name, TensorProto.FLOAT, None) for name in ("h", "d", "f", "o")]
        ends = [info(name, TensorProto.FLOAT, None) for name in ("next", "y")]
        two = helper.make_tensor("two", TensorProto.INT64, [1], [2])
        body = helper.make_graph(nodes, "step", ports, ends, [two])
        shape = g.concat(g.size(decay, 0), g.ints(64), g.ints(8), axis=0)
        zero = g.op("ConstantOfShape", shape)
        _, y = g.op(
            "Scan", zero, decay, fed, c, count=2, body=body, num_scan_inputs=3,
            scan_input_axes=[1, 1, 1], scan_output_axes=[1],
        )  # fmt: skip
        return str(y)

    mamba_net(g, scan)


@network("old", *({"batch": n} for n in (1, 5)))
def embedding_bag(g: Graph) -> None:
    """A recommender: sums of embedded words and a product of all pairs, as DLRM has it."""
    dense = g.input("dense", "batch", 13)
    y = g.relu(g.gemm(g.relu(g.gemm(dense, 13, 64)), 64, 16))
    bags = [y]
    for k in range(4):
        words = g.input(f"words_{k}", "batch", 6, high=1000)
        bags.append(g.reduce("ReduceSum", g.embed(words, 1000, 16), 1, keep=False))
    stack = g.concat(*(g.unsqueeze(bag, 1) for bag in bags), axis=1)
    pairs = g.op("MatMul", stack, g.transpose(stack, 0, 2, 1))
    row, column = np.tril_indices(5, -1)
    flat = g.reshape(pairs, g.size(pairs, 0), 25)
    chosen = g.op("Gather", flat, g.const(row * 5 + column, np.int64), axis=1)
    z = g.relu(g.gemm(g.concat(y, g.scaled(chosen, 0.1), axis=1), 26, 32))
    g.output(g.op("Sigmoid", g.gemm(z, 32, 1)), 2)


@network("old", {"bags": 2, "words": 9}, {"bags": 4, "words": 23})
def embedding_bag_loop(g: Graph) -> None:
    """nn.EmbeddingBag with offsets, which the old exporter writes as a Loop over the bags."""
    words = g.input("words", "words", high=300)
    # Offsets grow: the exporter's own are inputs, these are made of the number of bags.
    like = g.input("weights_of_bags", "bags", 16)
    count, total = g.size(like, 0), g.size(words, 0)
    at = g.op("Range", g.const(0, np.int64), g.squeeze(count, 0), g.const(1, np.int64))
    offsets = g.op("Div", g.mul(at, total), count)
    ends = g.concat(g.cut(offsets, 1, 2**31, 0), total, axis=0)
    table = g.weight(300, 16, fan=1)
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Gather", [offsets, "i"], ["begin"], axis=0),
        helper.make_node("Gather", [ends, "i"], ["end"], axis=0),
        helper.make_node("Unsqueeze", ["begin", "zero"], ["begin_1"]),
        helper.make_node("Unsqueeze", ["end", "zero"], ["end_1"]),
        helper.make_node("Slice", [words, "begin_1", "end_1", "zero"], ["bag"]),
        helper.make_node("Gather", [table, "bag"], ["rows"], axis=0),
        helper.make_node("ReduceMean", ["rows"], ["mean"], axes=[0], keepdims=0),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
    ports = [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, [])]
    ends_of = [info("on", TensorProto.BOOL, []), info("mean", TensorProto.FLOAT, [16])]
    body = helper.make_graph(nodes, "bag", ports, ends_of, [zero])
    means = g.op("Loop", g.squeeze(count, 0), g.const(True, np.bool_), body=body)
    g.output(g.gemm(g.add(means, like), 16, 8), 2)
