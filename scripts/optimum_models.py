"""Decoders with weights drawn from a seed, in the operators that optimum writes.

Enters: an architecture, its dims, the form of the weights, a form of mask and a seed. Leaves: an
ONNX model whose caches a Concat makes longer: norms of simple operators, places turned by ``Sin``
and ``Cos``, heads repeated by Expand, scores that a mask is added to. Dims, weights and products
are those of `llm_models`.

Example
-------
>>> [port.name for port in built(TINY, "f32").graph.input][:3]
['input_ids', 'attention_mask', 'position_ids']
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from llm_models import (
    ARCHITECTURES,
    MICROSOFT,
    TINY,
    Architecture,
    Dims,
    Layers,
    cache_ports,
    weight,
)
from onnx import TensorProto, helper

__all__ = ["FAMILIES", "MASKS", "TINY", "built"]

EPSILON = 1e-5

#: Architectures of `llm_models` that are written so here, and one of its own.
FAMILIES = ("llama", "qwen2", "qwen3", "gpt2")

#: Forms of masks: of transformers since 4.53 (comparisons of places), since 4.38 (a triangle times
#: a comparison), and before (two masks that are added).
MASKS = ("places", "triangle", "added")


@dataclass(slots=True)
class OptimumLayers(Layers):
    """Layers of a decoder as torch's exporter writes them."""

    mask: str = "places"
    fused_scale: bool = False  # queries and keys are scaled by the root, as of SDPA

    @property
    def kind(self) -> int:
        """ONNX's number of the type of activations."""
        return int(helper.np_dtype_to_tensor_dtype(np.dtype(self.floats)))

    def low(self) -> str:
        """What hides a score: the least number."""
        return self.number(float(np.finfo(self.floats).min))

    # ---- norms -----------------------------------------------------------------------------------

    def norm(self, x: str, size: int | None = None) -> str:
        gain = self.near(1, size or self.dims.hidden)
        square = self.op("Pow", x, self.number(2))
        mean = self.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.number(EPSILON)))
        one = self.op("Div", self.number(1), root)
        return self.op("Mul", gain, self.op("Mul", x, one))

    def sum_and_norm(self, x: str, y: str) -> tuple[str, str]:
        total = self.op("Add", x, y)
        return self.norm(total), total

    # ---- sizes and masks -------------------------------------------------------------------------

    def dim(self, x: str, axis: int) -> str:
        """A dim as one number."""
        return self.op("Gather", self.op("Shape", x), self.held(np.array(axis)), axis=0)

    def vector(self, x: str) -> str:
        return self.op("Unsqueeze", x, self.ints(0))

    def counted(self, end: str, start: str = "") -> str:
        start = start or self.held(np.array(0))
        return self.op("Range", start, end, self.held(np.array(1)))

    def lengths(self) -> list[str]:
        """The mask; other than in `Layers` the places are an input."""
        past, rows = self.dim("past_key_values.0.key", 2), self.dim("input_ids", 1)
        total = self.op("Add", past, rows)
        places = self.counted(total, past)
        return [getattr(self, f"_{self.mask}")(past, rows, total, places)]

    def _places(self, past: str, rows: str, total: str, places: str) -> str:
        column = self.op("Unsqueeze", places, self.ints(1))
        seen = self.op("LessOrEqual", self.counted(total), column)
        real = self.op("Cast", "attention_mask", to=TensorProto.BOOL)
        real = self.op("Unsqueeze", real, self.ints(1, 2))
        both = self.op("And", self.op("Unsqueeze", seen, self.ints(0, 1)), real)
        return self.op("Where", both, self.number(0), self.low())

    def _triangle(self, past: str, rows: str, total: str, places: str) -> str:
        shape = self.op("Concat", self.vector(rows), self.vector(total), axis=0)
        low = self.op("Expand", self.low(), shape)
        upper = self.op("Trilu", low, self.held(np.array(1)), upper=1)
        column = self.op("Reshape", places, self.ints(-1, 1))
        later = self.op("Greater", self.counted(total), column)
        later = self.op("Cast", later, to=self.kind)
        hidden = self.op("Mul", upper, later)
        hidden = self.op("Unsqueeze", hidden, self.ints(0, 1))
        wide = self.op(
            "Concat", self.vector(self.dim("input_ids", 0)), self.ints(1, -1, -1), axis=0
        )
        ones = self.op("ConstantOfShape", self.ints(4), value=helper.make_tensor("v", 7, [1], [1]))
        wide = self.op("Where", self.op("Equal", wide, self.ints(-1)), ones, wide)
        hidden = self.op("Expand", hidden, wide)
        real = self.op("Unsqueeze", "attention_mask", self.ints(1, 2))
        real = self.op("Cast", real, to=self.kind)
        padding = self.op("Equal", self.op("Add", hidden, real), self.number(0))
        return self.op("Where", padding, self.low(), hidden)

    def _added(self, past: str, rows: str, total: str, places: str) -> str:
        square = self.op("Concat", self.vector(rows), self.vector(rows), axis=0)
        low = self.op("Expand", self.low(), square)
        number = self.counted(rows)
        next_ = self.op("Reshape", self.op("Add", number, self.held(np.array(1))), self.ints(-1, 1))
        new = self.op("Where", self.op("Less", number, next_), self.number(0), low)
        before = self.op("Concat", self.vector(rows), self.vector(past), axis=0)
        old = self.op("Expand", self.number(0), before)
        causal = self.op("Concat", old, new, axis=-1)
        causal = self.op("Unsqueeze", causal, self.ints(0, 1))
        real = self.op("Unsqueeze", "attention_mask", self.ints(1, 2))
        real = self.op("Cast", real, to=self.kind)
        inverted = self.op("Sub", self.number(1), real)
        hides = self.op("Cast", inverted, to=TensorProto.BOOL)
        padding = self.op("Where", hides, self.low(), inverted)
        return self.op("Add", padding, causal)

    # ---- attention -------------------------------------------------------------------------------

    def turned_by(self) -> list[str]:
        """Cosines and sines of the places, [batch, 1, length, size of a head]."""
        if 0.0 not in self.tables:
            size = self.dims.head
            powers = self.dims.theta ** (-np.arange(0, size, 2) / size)
            powers = self.held(powers.astype(np.float32)[None, :, None])
            places = self.op("Unsqueeze", "position_ids", self.ints(1))
            places = self.op("Cast", places, to=TensorProto.FLOAT)
            angles = self.op("Transpose", self.op("MatMul", powers, places), perm=[0, 2, 1])
            angles = self.op("Concat", angles, angles, axis=-1)
            parts = [self.op("Cast", self.op(f, angles), to=self.kind) for f in ("Cos", "Sin")]
            self.tables[0.0] = [self.op("Unsqueeze", part, self.ints(1)) for part in parts]
        return self.tables[0.0]

    def turned(self, x: str) -> str:
        cos, sin = self.turned_by()
        half, last = self.dims.head // 2, self.ints(3)
        low = self.op("Slice", x, self.ints(0), self.ints(half), last)
        high = self.op("Slice", x, self.ints(half), self.ints(2**63 - 1), last)
        other = self.op("Concat", self.op("Neg", high), low, axis=-1)
        return self.op("Add", self.op("Mul", x, cos), self.op("Mul", other, sin))

    def per_head(self, x: str, count: int, normed: bool = False) -> str:
        shape = [self.vector(self.dim(x, axis)) for axis in (0, 1)]
        shape = self.op("Concat", *shape, self.ints(count), self.ints(self.dims.head), axis=0)
        apart = self.op("Reshape", x, shape)
        if normed:
            apart = self.norm(apart, self.dims.head)
        return self.op("Transpose", apart, perm=[0, 2, 1, 3])

    def repeated(self, x: str) -> str:
        """Each head as often as queries share it."""
        dims = self.dims
        times = dims.heads // dims.kept_heads
        if times == 1:
            return x
        batch, rows = (self.vector(self.dim(x, axis)) for axis in (0, 2))
        kept = self.ints(dims.kept_heads)
        wide = self.op("Concat", batch, kept, self.ints(times), rows, self.ints(dims.head), axis=0)
        many = self.op("Expand", self.op("Unsqueeze", x, self.ints(2)), wide)
        shape = self.op("Concat", batch, self.ints(dims.heads), rows, self.ints(dims.head), axis=0)
        return self.op("Reshape", many, shape)

    def longer(self, new: str, layer: int, role: str) -> str:
        made = f"present.{layer}.{role}"
        self.several("Concat", [f"past_key_values.{layer}.{role}", new], [made], axis=-2)
        return made

    def scores(self, query: str, keys: str) -> str:
        factor = float(self.dims.head**-0.5)
        if not self.fused_scale:
            across = self.op("Transpose", keys, perm=[0, 1, 3, 2])
            return self.op("Mul", self.op("MatMul", query, across), self.number(factor))
        size = self.op("Slice", self.op("Shape", query), self.ints(-1), self.ints(2**63 - 1))
        size = self.op("Sqrt", self.op("Cast", size, to=self.kind))
        root = self.op("Sqrt", self.op("Div", self.number(1), size))
        across = self.op("Transpose", keys, perm=[0, 1, 3, 2])
        parts = [self.op("Mul", part, root) for part in (query, across)]
        return self.op("MatMul", *parts)

    def attention(self, x: str, layer: int, lengths: list[str]) -> str:
        dims, of = self.dims, self.of
        width, kept = dims.hidden, dims.kept_heads * dims.head
        parts = [self.product(x, width, n, of.qkv_bias) for n in (width, kept, kept)]
        query = self.turned(self.per_head(parts[0], dims.heads, of.head_norms))
        key = self.turned(self.per_head(parts[1], dims.kept_heads, of.head_norms))
        value = self.per_head(parts[2], dims.kept_heads)
        keys = self.repeated(self.longer(key, layer, "key"))
        values = self.repeated(self.longer(value, layer, "value"))
        read = self.read(self.scores(query, keys), values, lengths[0], query)
        return self.product(read, width, width)

    def read(self, scores: str, values: str, mask: str, query: str) -> str:
        """What the weights of scores read, by rows."""
        end = self.vector(self.dim(values, 2))
        mask = self.op("Slice", mask, self.ints(0), end, self.ints(3), self.ints(1))
        shares = self.op("Softmax", self.op("Add", scores, mask), axis=-1)
        together = self.op("Transpose", self.op("MatMul", shares, values), perm=[0, 2, 1, 3])
        shape = [self.vector(self.dim(query, axis)) for axis in (0, 2)]
        shape = self.op("Concat", *shape, self.ints(self.dims.hidden), axis=0)
        return self.op("Reshape", together, shape)


@dataclass(slots=True)
class Gpt2Layers(OptimumLayers):
    """Layers of GPT-2: one product for queries, keys and values, a triangle that is kept."""

    def norm(self, x: str, size: int | None = None) -> str:
        size = size or self.dims.hidden
        return self.op("LayerNormalization", x, self.near(1, size), self.near(0, size), axis=-1)

    def embedded(self, table: np.ndarray) -> tuple[str, list[str]]:
        words, held = OptimumLayers.embedded(self, table)
        places = weight(self.rng, self.dims.context, self.dims.hidden).astype(self.floats)
        return self.op("Add", words, self.op("Gather", self.held(places), "position_ids")), held

    def attention(self, x: str, layer: int, lengths: list[str]) -> str:
        dims, width = self.dims, self.dims.hidden
        whole = self.product(x, width, 3 * width, bias=True)
        parts = [f"{whole}_{role}" for role in "qkv"]
        self.several("Split", [whole, self.ints(width, width, width)], parts, axis=2)
        query, key, value = (self.per_head(part, dims.heads) for part in parts)
        keys, values = self.longer(key, layer, "key"), self.longer(value, layer, "value")
        across = self.op("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self.op("Div", self.op("MatMul", query, across), self.number(dims.head**0.5))
        total, rows = self.dim(keys, 2), self.dim(query, 2)
        ends = [self.vector(total), self.ints(dims.context)]
        begin = self.vector(self.op("Sub", total, rows))
        seen = self.op("Slice", self.triangle(), begin, ends[0], self.ints(2), self.ints(1))
        seen = self.op("Slice", seen, self.ints(0), ends[0], self.ints(3), self.ints(1))
        scores = self.op("Where", seen, scores, self.low())
        read = self.read(scores, values, lengths[0], query)
        return self.product(read, width, width, bias=True)

    def triangle(self) -> str:
        if "triangle" not in self.quantised:
            size = self.dims.context
            self.quantised["triangle"] = [self.held(np.tri(size, dtype=bool)[None, None])]
        return self.quantised["triangle"][0]

    def lengths(self) -> list[str]:
        """What is added to scores: a large negative number where there is no token."""
        real = self.op("Unsqueeze", "attention_mask", self.ints(1, 2))
        real = self.op("Cast", real, to=self.kind)
        return [self.op("Mul", self.op("Sub", self.number(1), real), self.low())]

    def products(self, x: str) -> str:
        width, inner = self.dims.hidden, self.dims.inner
        inside = self.op("Gelu", self.product(x, width, inner, bias=True), domain=MICROSOFT)
        return self.product(inside, inner, width, bias=True)


def built(
    dims: Dims,
    form: str,
    architecture: str = "llama",
    mask: str = "places",
    *,
    seed: int = 0,
    fused_scale: bool = False,
) -> onnx.ModelProto:
    """Build a decoder.

    Parameters
    ----------
    dims : Dims
    form : str
        Of the weights, as of `llm_models.built`.
    architecture : str
        One of `FAMILIES`.
    mask : str
        One of `MASKS`; GPT-2 has one of its own.
    fused_scale : bool
        Whether queries and keys are scaled, and not the scores.

    Raises
    ------
    InputError
        The dims do not divide each other.
    """
    dims.check()
    rng = np.random.default_rng(seed)
    of = ARCHITECTURES.get(architecture, Architecture())
    kind = Gpt2Layers if architecture == "gpt2" else OptimumLayers
    g = kind(rng, dims=dims, of=of, form=form, mask=mask, fused_scale=fused_scale)
    kept_heads = dims.heads if architecture == "gpt2" else dims.kept_heads
    g.decoder(last=False)
    floats = g.kind
    port = helper.make_tensor_value_info
    batch, rows, past = "batch_size", "sequence_length", "past_sequence_length"

    def caches(name: str, length: str) -> list[onnx.ValueInfoProto]:
        return cache_ports(name, dims.layers, floats, [batch, kept_heads, length, dims.head])

    ids = [("input_ids", rows), ("attention_mask", f"{past} + {rows}"), ("position_ids", rows)]
    inputs = [port(name, TensorProto.INT64, [batch, dim]) for name, dim in ids]
    logits = port("logits", floats, [batch, rows, dims.vocabulary])
    graph = helper.make_graph(
        g.nodes, architecture, [*inputs, *caches("past_key_values", past)],
        [logits, *caches("present", f"{past} + {rows}")], g.weights,
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(
        graph, producer_name="optimum_models", ir_version=10, opset_imports=opsets
    )
