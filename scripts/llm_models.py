"""Decoders of language models with weights drawn from a seed, in onnxruntime-genai's operators.

Enters: an architecture, its dims, the form of the weights and a seed. Leaves: an ONNX model with
the ports ``input_ids``, ``attention_mask``, ``past_key_values.N.key`` and ``.value`` -> ``logits``,
``present.N.key`` and ``.value``: GroupQueryAttention with rotary places, MatMulNBits,
GatherBlockQuantized. `write_gguf` writes a Llama of the same dims for llama.cpp. The models
measure a compiler and have nothing to say.

Example
-------
>>> built(TINY, "int4").graph.output[0].name
'logits'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from tiny_networks import Graph

from tvm_megcc.errors import InputError, ToolError

MICROSOFT = "com.microsoft"
#: Numbers of 4 bits that have one scale.
BLOCK = 32
EPSILON = float(np.float32(1e-5))
#: Forms of the weights: floats, bytes as ONNX Runtime's quantize_dynamic writes them, or numbers of
#: 4 bits with a scale for each block, whose products may round activations to 8 bits.
FORMS = ("f32", "f16", "int8", "int4")
#: ``--state`` of a decoder whose past and present have one capacity.
STATES = ("past_key_values.*=present.*",)


@dataclass(frozen=True, slots=True)
class Dims:
    """Sizes of a decoder; by default those of SmolLM2-135M, with 4 of its 30 layers."""

    layers: int = 4
    hidden: int = 576
    heads: int = 9
    kept_heads: int = 3  # of keys and values
    inner: int = 1536  # width between the two products behind the attention
    vocabulary: int = 49152
    context: int = 2048
    theta: float = 1e5  # base of the rotary places

    @property
    def head(self) -> int:
        """Elements of a head."""
        return self.hidden // self.heads

    @property
    def layer_products(self) -> int:
        """Multiply-adds of a token in the products of all layers of a Llama."""
        attention = self.hidden * (2 * self.hidden + 2 * self.kept_heads * self.head)
        return self.layers * (attention + 3 * self.hidden * self.inner)

    def check(self) -> None:
        """Raise InputError for sizes that do not divide each other."""
        if self.hidden % self.heads or self.heads % self.kept_heads or self.head % 2:
            raise InputError(
                f"{self.heads} heads do not divide {self.hidden}, or {self.kept_heads} do not"
                f" divide {self.heads}; give others"
            )
        if self.hidden % BLOCK or self.inner % BLOCK:
            raise InputError(f"the widths are {self.hidden} and {self.inner}; give blocks of 32")


#: For tests.
TINY = Dims(
    layers=2, hidden=64, heads=4, kept_heads=2, inner=96, vocabulary=160, context=256, theta=1e4
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a decoder has beyond, or instead of, what Llama has."""

    qkv_bias: bool = False
    head_norms: bool = False  # of queries and keys, before they are turned
    norms_behind: bool = False  # of what attention and products give
    window: int = 0  # rows that every other layer sees
    softcap: float = 0.0  # of scores
    logits_softcap: float = 0.0
    scaled_embedding: bool = False
    activation: str = "Silu"
    turned: float = 1.0  # share of a head that is turned by its place
    phi: bool = False  # LayerNormalization, biases, one norm for attention and products, no gate


ARCHITECTURES = {
    "llama": Architecture(),
    "qwen2": Architecture(qkv_bias=True),
    "qwen3": Architecture(head_norms=True),
    "gemma2": Architecture(
        norms_behind=True, window=5, softcap=50.0, logits_softcap=30.0, scaled_embedding=True,
        activation="FastGelu",
    ),
    "gemma3": Architecture(
        head_norms=True, norms_behind=True, window=6, scaled_embedding=True, activation="FastGelu"
    ),
    "phi": Architecture(turned=0.5, phi=True, activation="FastGelu"),
}  # fmt: skip


def weight(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Weights of a product, [rows, columns]: it keeps the deviation of its input."""
    return rng.standard_normal((rows, columns), np.float32) / np.float32(np.sqrt(rows))


def four_bits(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of 4 bits of weights [rows, columns], and their scales.

    The numbers are [columns, blocks, 16], two in a byte, the first one in its low half; 8 is zero.
    """
    blocks = np.ascontiguousarray(weights.T).reshape(weights.shape[1], -1, BLOCK)
    at = np.abs(blocks).argmax(-1)[..., None]
    scales = np.take_along_axis(blocks, at, -1) / -8  # the largest one becomes 0
    scales = np.where(scales == 0, 1, scales).astype(np.float32)
    numbers = np.clip(np.rint(blocks / scales) + 8, 0, 15).astype(np.uint8)
    return numbers[..., 0::2] | numbers[..., 1::2] << 4, scales[..., 0]


@dataclass(slots=True)
class Layers(Graph):
    """Layers of a decoder; values are [batch, length, width]."""

    dims: Dims = field(default_factory=Dims)
    of: Architecture = field(default_factory=Architecture)
    form: str = "f32"
    quantised: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[float, list[str]] = field(default_factory=dict)

    @property
    def floats(self) -> type[np.floating[Any]]:
        return np.float16 if self.form == "f16" else np.float32

    def several(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any
    ) -> None:
        """A node whose outputs have names already; "" is an output that nobody reads."""
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, outputs, name, **attrs))

    def ints(self, *values: int) -> str:
        return self.held(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.held(np.array(value, self.floats))

    def near(self, middle: float, size: int) -> str:
        """Numbers near `middle`: gains of a norm, or biases."""
        drawn = middle + 0.1 * self.rng.standard_normal(size)
        return self.held(drawn.astype(self.floats))

    # ---- products --------------------------------------------------------------------------------

    def product(self, x: str, rows: int, columns: int, bias: bool = False) -> str:
        y = self.times(x, weight(self.rng, rows, columns))
        return self.op("Add", y, self.near(0, columns)) if bias else y

    def times(self, x: str, weights: np.ndarray, held: Sequence[str] = ()) -> str:
        """`x` times weights in their form, which are `held` by these names already."""
        rows, columns = weights.shape
        if self.form == "int4":
            names = held or [self.held(array) for array in four_bits(weights)]
            return self.op(
                "MatMulNBits", x, *names, domain=MICROSOFT, K=rows, N=columns, bits=4,
                block_size=BLOCK, accuracy_level=4,
            )  # fmt: skip
        if self.form == "int8":
            return self.in_bytes(x, weights)
        (name,) = held or [self.held(weights.astype(self.floats))]
        return self.op("MatMul", x, name)

    def in_bytes(self, x: str, weights: np.ndarray) -> str:
        """`x` is quantised once for all of its products, with a scale that a run finds."""
        scale = np.float32(np.abs(weights).max() / 127)
        numbers = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
        if x not in self.quantised:
            self.quantised[x] = [f"{x}_{part}" for part in ("quantised", "scale", "zero")]
            self.several("DynamicQuantizeLinear", [x], self.quantised[x])
        bytes_, x_scale, zero = self.quantised[x]
        sums = self.op(
            "MatMulInteger", bytes_, self.held(numbers), zero, self.held(np.array(0, np.int8))
        )
        scales = self.op("Mul", x_scale, self.held(np.array(scale)))
        return self.op("Mul", self.op("Cast", sums, to=TensorProto.FLOAT), scales)

    # ---- norms -----------------------------------------------------------------------------------

    def norm(self, x: str, size: int | None = None) -> str:
        size = size or self.dims.hidden
        given = [x, self.near(1, size)]
        if self.of.phi:
            return self.op("LayerNormalization", *given, self.near(0, size), epsilon=EPSILON)
        return self.op("SimplifiedLayerNormalization", *given, axis=-1, epsilon=EPSILON)

    def sum_and_norm(self, x: str, y: str) -> tuple[str, str]:
        """The normalised sum, and the sum."""
        names = [f"{part}_{len(self.nodes)}" for part in ("normed", "sum")]
        given, kind = [x, y, self.near(1, self.dims.hidden)], "SkipSimplifiedLayerNormalization"
        if self.of.phi:
            given, kind = [*given, self.near(0, self.dims.hidden)], "SkipLayerNormalization"
        outputs = [names[0], "", "", names[1]]
        self.several(kind, given, outputs, domain=MICROSOFT, epsilon=EPSILON)
        return names[0], names[1]

    def head_norm(self, x: str, count: int) -> str:
        size = self.dims.head
        apart = self.op("Reshape", x, self.ints(0, -1, size))
        return self.op("Reshape", self.norm(apart, size), self.ints(0, -1, count * size))

    def behind(self, x: str) -> str:
        return self.norm(x) if self.of.norms_behind else x

    # ---- parts of the decoder --------------------------------------------------------------------

    def lengths(self) -> list[str]:
        """The last place of each sequence, and the length of the longest, as the mask has them."""
        count = self.op("ReduceSum", "attention_mask", self.ints(1), keepdims=0)
        last = self.op("Sub", count, self.ints(1))
        shape = self.op("Shape", "attention_mask")
        total = self.op("Gather", shape, self.held(np.array(1, np.int64)), axis=0)
        return [self.op("Cast", x, to=TensorProto.INT32) for x in (last, total)]

    def places(self, theta: float) -> list[str]:
        """Tables of cosines and sines, by row of the sequence."""
        if theta not in self.tables:
            size = int(self.dims.head * self.of.turned)
            powers = theta ** (-np.arange(0, size, 2) / size)
            angles = np.arange(self.dims.context)[:, None] * powers
            parts = (np.cos(angles), np.sin(angles))
            self.tables[theta] = [self.held(part.astype(self.floats)) for part in parts]
        return self.tables[theta]

    def embedded(self, table: np.ndarray) -> tuple[str, list[str]]:
        """The tokens' rows, and the names by which the head's product holds the same table."""
        dims, held = self.dims, []
        if self.form == "int4":
            held = [self.held(array) for array in four_bits(table)]
            flat = self.op("Reshape", held[0], self.ints(dims.vocabulary, dims.hidden // 2))
            x = self.op(
                "GatherBlockQuantized", flat, "input_ids", held[1], domain=MICROSOFT, bits=4,
                block_size=BLOCK, gather_axis=0, quantize_axis=1,
            )  # fmt: skip
        elif self.form == "int8":
            scale = np.float32(np.abs(table).max() / 127)
            scaled = self.scaled(scale, 128, np.uint8)
            numbers = np.rint(table.T / scale + 128).astype(np.uint8)
            rows = self.op("Gather", self.held(np.ascontiguousarray(numbers)), "input_ids")
            x = self.op("DequantizeLinear", rows, *scaled)
        else:
            held = [self.held(table.astype(self.floats))]
            x = self.op("Gather", self.op("Transpose", held[0], perm=[1, 0]), "input_ids")
        if self.of.scaled_embedding:
            x = self.op("Mul", x, self.number(dims.hidden**0.5))
        return x, held

    def attention(self, x: str, layer: int, lengths: Sequence[str]) -> str:
        dims, of = self.dims, self.of
        width, kept = dims.hidden, dims.kept_heads * dims.head
        bias = of.qkv_bias or of.phi
        if of.head_norms:
            query, key, value = (self.product(x, width, n, bias) for n in (width, kept, kept))
            query = self.head_norm(query, dims.heads)
            parts = [query, self.head_norm(key, dims.kept_heads), value]
        else:
            parts = [self.product(x, width, width + 2 * kept, bias), "", ""]
        local = of.window and layer % 2 == 0
        theta = 1e4 if local and of.head_norms else dims.theta
        past = [f"past_key_values.{layer}.{role}" for role in ("key", "value")]
        present = [f"present.{layer}.{role}" for role in ("key", "value")]
        name = f"attention_{layer}"
        self.several(
            "GroupQueryAttention", [*parts, *past, *lengths, *self.places(theta)],
            [name, *present], domain=MICROSOFT, num_heads=dims.heads,
            kv_num_heads=dims.kept_heads, scale=float(dims.head**-0.5),
            local_window_size=of.window if local else -1, softcap=of.softcap, do_rotary=1,
            rotary_interleaved=0,
        )  # fmt: skip
        return self.behind(self.product(name, width, width, of.phi))

    def activated(self, x: str) -> str:
        if self.of.activation == "Silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        return self.op(self.of.activation, x, domain=MICROSOFT)

    def products(self, x: str) -> str:
        width, inner = self.dims.hidden, self.dims.inner
        inside = self.activated(self.product(x, width, inner, self.of.phi))
        if not self.of.phi:
            inside = self.op("Mul", inside, self.product(x, width, inner))
        return self.behind(self.product(inside, inner, width, self.of.phi))

    def logits(self, x: str, table: np.ndarray, held: Sequence[str], last: bool) -> None:
        if last:
            x = self.op("Slice", x, self.ints(-1), self.ints(2**31), self.ints(1))
        y = self.times(x, table, held)
        if cap := self.of.logits_softcap:
            y = self.op("Tanh", self.op("Div", y, self.number(cap)))
            y = self.op("Mul", y, self.number(cap))
        self.nodes[-1].output[0] = "logits"

    def decoder(self, last: bool) -> None:
        """All nodes, from the tokens to the logits."""
        dims = self.dims
        table = weight(self.rng, dims.hidden, dims.vocabulary)
        lengths = self.lengths()
        total, held = self.embedded(table)
        x = self.norm(total)
        for layer in range(dims.layers):
            y = self.attention(x, layer, lengths)
            if self.of.phi:
                y = self.op("Add", y, self.products(x))
            else:
                x, total = self.sum_and_norm(total, y)
                y = self.products(x)
            x, total = self.sum_and_norm(total, y)
        self.logits(x, table, held, last)


def cache_ports(
    name: str, layers: int, kind: int, shape: Sequence[int | str]
) -> list[onnx.ValueInfoProto]:
    """Ports of all caches, of a type and dims: ``NAME.0.key``, ``NAME.0.value``, ``NAME.1.key``."""
    every = [f"{name}.{layer}.{role}" for layer in range(layers) for role in ("key", "value")]
    return [helper.make_tensor_value_info(one, kind, shape) for one in every]


def built(
    dims: Dims,
    form: str,
    architecture: str = "llama",
    *,
    seed: int = 0,
    growing: bool = False,
    last: bool = False,
) -> onnx.ModelProto:
    """Build a decoder.

    Parameters
    ----------
    dims : Dims
    form : str
        Of the weights, one of `FORMS`; f16 is the type of activations and caches, too.
    architecture : str
        One of `ARCHITECTURES`.
    growing : bool
        Whether caches grow by the new rows; else past and present have one capacity.
    last : bool
        Whether there are logits of the last position only.

    Raises
    ------
    InputError
        The dims do not divide each other.
    """
    dims.check()
    rng = np.random.default_rng(seed)
    g = Layers(rng, dims=dims, of=ARCHITECTURES[architecture], form=form)
    g.decoder(last)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(g.floats))
    port = helper.make_tensor_value_info

    def caches(name: str, rows: str) -> list[onnx.ValueInfoProto]:
        shape = ["batch_size", dims.kept_heads, rows, dims.head]
        return cache_ports(name, dims.layers, kind, shape)

    length, one = "sequence_length", "max_sequence_length"
    past, present = ("past_sequence_length", "total_sequence_length") if growing else (one, one)
    tokens = [("input_ids", length), ("attention_mask", "total_sequence_length")]
    inputs = [port(name, TensorProto.INT64, ["batch_size", dim]) for name, dim in tokens]
    logits = port("logits", kind, ["batch_size", 1 if last else length, dims.vocabulary])
    graph = helper.make_graph(
        g.nodes, architecture, [*inputs, *caches("past_key_values", past)],
        [logits, *caches("present", present)], g.weights,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, producer_name="llm_models", ir_version=10, opset_imports=opsets)


def step(
    dims: Dims, form: str, past: int, length: int, capacity: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """Inputs of `length` tokens behind a past of random rows, in caches of a capacity."""
    rng = np.random.default_rng(seed)
    kind = np.float16 if form == "f16" else np.float32
    given = {
        "input_ids": rng.integers(0, dims.vocabulary, (1, length)),
        "attention_mask": np.ones((1, past + length), np.int64),
    }
    for layer in range(dims.layers):
        for role in ("key", "value"):
            cache = np.zeros((1, dims.kept_heads, capacity, dims.head), kind)
            cache[:, :, :past] = rng.standard_normal((1, dims.kept_heads, past, dims.head))
            given[f"past_key_values.{layer}.{role}"] = cache
    return given


# ---- llama.cpp ----------------------------------------------------------------------------------


def write_gguf(dims: Dims, form: str, path: Path, seed: int = 0) -> None:
    """Write a Llama of these dims for llama.cpp: Q4_0, Q8_0, F16 or F32, the table tied.

    Raises ToolError if the package ``gguf`` is missing.
    """
    try:
        import gguf
    except ImportError:
        raise ToolError("llama.cpp's models need the package gguf; pip install gguf") from None
    kinds = gguf.GGMLQuantizationType
    kind = {"f32": kinds.F32, "f16": kinds.F16, "int8": kinds.Q8_0, "int4": kinds.Q4_0}[form]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(dims.context)
    writer.add_embedding_length(dims.hidden)
    writer.add_block_count(dims.layers)
    writer.add_feed_forward_length(dims.inner)
    writer.add_head_count(dims.heads)
    writer.add_head_count_kv(dims.kept_heads)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(dims.head)
    writer.add_rope_freq_base(dims.theta)
    writer.add_vocab_size(dims.vocabulary)
    writer.add_tokenizer_model("no_vocab")
    for name, array in _llama(dims, seed):
        if array.ndim == 1:
            writer.add_tensor(name, array)
        else:
            packed = gguf.quants.quantize(array, kind)
            writer.add_tensor(name, packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _llama(dims: Dims, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Weights by llama.cpp's names, [columns, rows]; other draws than those of `built`."""
    rng = np.random.default_rng(seed)
    drawn: Callable[[int, int], np.ndarray] = partial(_columns, rng)
    width, kept, inner = dims.hidden, dims.kept_heads * dims.head, dims.inner
    gains = np.ones(width, np.float32)
    yield "token_embd.weight", drawn(width, dims.vocabulary)
    yield "output_norm.weight", gains
    for layer in range(dims.layers):
        name = f"blk.{layer}."
        yield name + "attn_norm.weight", gains
        yield name + "attn_q.weight", drawn(width, width)
        yield name + "attn_k.weight", drawn(width, kept)
        yield name + "attn_v.weight", drawn(width, kept)
        yield name + "attn_output.weight", drawn(width, width)
        yield name + "ffn_norm.weight", gains
        yield name + "ffn_gate.weight", drawn(width, inner)
        yield name + "ffn_up.weight", drawn(width, inner)
        yield name + "ffn_down.weight", drawn(inner, width)


def _columns(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return np.ascontiguousarray(weight(rng, rows, columns).T)
