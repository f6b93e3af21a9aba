"""com.microsoft::GroupQueryAttention."""

from __future__ import annotations

from collections.abc import Set
from math import sqrt
from typing import Any

import numpy as np
from tvm import relax, te, tirx

from tvm_megcc.relax_tools.attention_calls import Attended, append, attend

from ...dims import Size, maximum
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.attention import LOWEST, attended, heads, heads_behind, masked, scores
from ..common.context import expr_dtype
from ..common.normed import simple
from ..common.rotary import rotated, table

_REFUSED = {"kv_cache_bit_width": 0, "k_quant_type": "NONE", "v_quant_type": "NONE",
            "qk_output": 0, "sliding_window_cache": 0, "causal": 1}  # fmt: skip

_OPERANDS = 17


def appends(given: Set[int]) -> bool:
    """Whether new rows are written behind those of a cache, and the filled ones read alone.

    `given` are the places of the operands that a node has. Such a node in f32 computes so.
    """
    return 3 in given


class GroupQueryAttention(OnnxOp):
    """Causal attention whose queries share keys and values, with a cache for each batch's past.

    Operands: query, key, value (or all in query), past key and value, the last place of each batch,
    the longest of their lengths, tables of cosines and sines, places, attention bias, sinks, then
    (12, 13) scales of a quantised cache, norms of queries and keys, lengths of the new tokens.
    Results: the output, the present key and value.
    """

    single = {6: "total_sequence_length"}

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [["batch", "length"]] * 3
        labels += [["batch", None, "past"]] * 2
        labels += [[], [], ["places", "half"], ["places", "half"]]
        return [*labels, *([] for _ in shapes)][: len(shapes)]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        other = [name for name, value in _REFUSED.items() if attrs.get(name, value) != value]
        if other or any(inputs.has(i) for i in (12, 13, 16)):
            what = ", ".join(other) or "scales of its cache or lengths of its chunks"
            raise ctx.unsupported(what, "export with a causal float cache and nothing of these")
        given = {i for i in range(_OPERANDS) if inputs.has(i)}
        over_cache = appends(given) and inputs.dtype(0) == "float32"
        q, k, v = self._operands(ctx, inputs, attrs, over_cache)
        batch, length = (ctx.shape(q)[axis] for axis in ((0, 1) if over_cache else (0, 2)))
        before = self._past_lengths(ctx, inputs, batch, length)
        if attrs.get("do_rotary", 0):
            places = self._places(ctx, inputs, before, batch, length)
            cos, sin = (table(ctx, inputs[i], places, over_cache) for i in (7, 8))
            turn, turned = bool(attrs.get("rotary_interleaved", 0)), 2 * ctx.shape(cos)[3]
            q, k = (rotated(ctx, ctx.at_least(x, 3, turned), cos, sin, turn) for x in (q, k))
        room = self._room(ctx, inputs, length)
        most = ctx.sizes([room - length], "int64")
        longest = ctx.emit(relax.op.max(before))
        fits = ctx.emit(relax.op.less_equal(longest, ctx.reshape(most, [])))
        if over_cache and inputs.has(10):
            columns = ctx.sizes([inputs.shape(10)[3] - length], "int64")
            there = ctx.emit(relax.op.less_equal(longest, ctx.reshape(columns, [])))
            fits = ctx.emit(relax.op.logical_and(fits, there))
        before = ctx.checked(before, fits)
        if over_cache:
            return self._over_cache(ctx, inputs, attrs, [q, k, v], before, room)
        keys, values = (
            _cached(ctx, inputs[3 + i] if inputs.has(3 + i) else None, new, before, room)
            for i, new in enumerate((k, v))
        )
        shared = attrs["num_heads"] // attrs["kv_num_heads"]
        wide = [_repeated(ctx, x, shared) for x in (keys, values)]
        weights = self._weights(ctx, inputs, attrs, q, wide[0], before)
        return attended(ctx, weights, wide[1]), keys, values

    @staticmethod
    def _over_cache(
        ctx: Context,
        inputs: Inputs,
        attrs: Attrs,
        new: list[relax.Expr],
        before: relax.Expr,
        room: Size,
    ) -> Result:
        """The results of operands ``[batch, length, heads, size]`` that were turned.

        Only the rows of the cache that are filled are read, and only the new ones written where
        the cache's memory is that of the past.
        """
        q, k, v = new
        batch, length, heads, size = ctx.shape(q)
        kept = ctx.shape(k)[2]
        caches = []
        for past, rows in ((inputs[3], k), (inputs[4], v)):
            old = ctx.cast(past, [batch, kept, ctx.shape(past)[2], size])
            made = append(ctx.builder, rows, before, old, ctx.prim(room))
            caches.append(ctx.cast(made, [batch, kept, room, size]))
        factor = attrs.get("scale", 0.0) or 1 / sqrt(ctx.static([size])[0])
        window = max(0, attrs.get("local_window_size", -1))
        operands = [q, *caches, before]
        if inputs.has(10):
            operands.append(_whole_bias(ctx, inputs, batch, heads, length))
        sinks = _sinks(ctx, inputs, attrs)
        if sinks is not None:
            operands.append(sinks)
        facts = Attended(
            float(np.float32(factor)), window, attrs.get("softcap", 0.0), inputs.has(10),
            sinks is not None,
        )  # fmt: skip
        y = attend(ctx.builder, operands, facts)
        return ctx.reshape(y, [batch, length, heads * size]), *caches

    @staticmethod
    def _operands(ctx: Context, inputs: Inputs, attrs: Attrs, heads_last: bool) -> list[relax.Expr]:
        """Queries, keys and values by heads: ``[batch, heads, length, size]``.

        With `heads_last` ``[batch, length, heads, size]``.
        """
        counts = [attrs["num_heads"], attrs["kv_num_heads"], attrs["kv_num_heads"]]
        parts = [inputs[0], inputs[1], inputs[2]]
        if not inputs.has(1):
            (width,) = ctx.static(inputs.shape(0)[2:])
            size, parts, start = width // sum(counts), [], 0
            for count in counts:
                end = start + count * size
                part = relax.op.strided_slice(inputs[0], [2], [start], [end], [1])
                parts.append(ctx.emit(part))
                start = end
        split = heads_behind if heads_last else heads
        found = [split(ctx, part, count) for part, count in zip(parts, counts, strict=True)]
        for i in (14, 15):
            if inputs.has(i):
                name = "q_norm_epsilon" if i == 14 else "k_norm_epsilon"
                epsilon = float(attrs.get(name) or attrs.get("qk_norm_epsilon", 1e-6))
                found[i - 14], _ = simple(ctx, found[i - 14], inputs[i], epsilon)
        return found

    @staticmethod
    def _past_lengths(ctx: Context, inputs: Inputs, batch: Size, length: Size) -> relax.Expr:
        """``int64[batch]``: how many keys there are before the new ones; in a first prompt none."""
        op = relax.op
        last = ctx.reshape(ctx.emit(op.astype(inputs[5], "int64")), [batch])
        total = ctx.reshape(ctx.emit(op.astype(inputs[6], "int64")), [])
        new = ctx.reshape(ctx.sizes([length], "int64"), [])
        past = ctx.emit(op.subtract(ctx.emit(op.add(last, ctx.const(1, "int64"))), new))
        prompt = ctx.emit(op.equal(total, new))
        past = ctx.emit(op.where(prompt, ctx.const(0, "int64"), past))
        return ctx.emit(op.maximum(past, ctx.const(0, "int64")))

    @staticmethod
    def _places(
        ctx: Context, inputs: Inputs, before: relax.Expr, batch: Size, length: Size
    ) -> relax.Expr:
        """``int64[batch, length]`` of the new tokens; a first prompt's follow its first one."""
        op = relax.op
        number = ctx.emit(op.arange(0, ctx.prim(length), 1, "int64"))
        if not inputs.has(9):
            return ctx.emit(op.add(ctx.reshape(before, [batch, 1]), number))
        given = ctx.agreeing(inputs[9], [batch, length], "a place for each token")
        first = ctx.emit(op.strided_slice(given, [0, 1], [0, 0], [1, 1], [1, 1]))
        total = ctx.reshape(ctx.emit(op.astype(inputs[6], "int64")), [1, 1])
        prompt = ctx.emit(op.equal(total, ctx.reshape(ctx.sizes([length], "int64"), [1, 1])))
        return ctx.emit(op.where(prompt, ctx.emit(op.add(first, number)), given))

    @staticmethod
    def _room(ctx: Context, inputs: Inputs, length: Size) -> Size:
        """How many keys the present has: as many as the past, or the longest length.

        In the memory of the past there is room for as many as there.
        """
        if ctx.states & {1, 2}:
            return inputs.shape(3)[2]
        (total,) = inputs.need_ints(6, "total_sequence_length", low=1)
        return maximum(inputs.shape(3)[2], total) if inputs.has(3) else total

    @staticmethod
    def _weights(
        ctx: Context, inputs: Inputs, attrs: Attrs, q: relax.Expr, k: relax.Expr, before: relax.Expr
    ) -> relax.Expr:
        op, dtype = relax.op, expr_dtype(q)
        batch, _, queries, _ = ctx.shape(q)
        keys = ctx.shape(k)[2]
        found = scores(ctx, q, k, attrs.get("scale", 0.0))
        if attrs.get("softcap", 0.0):
            cap = ctx.const(attrs["softcap"], dtype)
            found = ctx.emit(op.multiply(ctx.emit(op.tanh(op.divide(found, cap))), cap))
        if inputs.has(10):
            found = masked(ctx, found, _bias(ctx, inputs, keys))
        number = ctx.emit(op.arange(0, ctx.prim(queries), 1, "int64"))
        place = ctx.emit(op.add(ctx.reshape(before, [batch, 1]), number))
        place = ctx.reshape(place, [batch, 1, queries, 1])
        column = ctx.emit(op.arange(0, ctx.prim(keys), 1, "int64"))
        seen = ctx.emit(op.less_equal(column, place))
        window = attrs.get("local_window_size", -1)
        if window > 0:
            near = op.greater(op.add(column, ctx.const(window, "int64")), place)
            seen = ctx.emit(op.logical_and(seen, ctx.emit(near)))
        found = ctx.emit(op.where(seen, found, ctx.const(LOWEST, dtype)))
        sinks = _sinks(ctx, inputs, attrs)
        if sinks is None:
            return ctx.emit(op.nn.softmax(found, -1))
        more = ctx.reshape(sinks, [1, attrs["num_heads"], 1, 1])
        top = ctx.emit(op.maximum(op.max(found, [-1], True), more))
        parts = ctx.emit(op.exp(ctx.emit(op.subtract(found, top))))
        extra = op.exp(ctx.emit(op.subtract(more, top)))
        total = ctx.emit(op.add(op.sum(parts, [-1], True), ctx.emit(extra)))
        return ctx.emit(op.divide(parts, total))


def _sinks(ctx: Context, inputs: Inputs, attrs: Attrs) -> relax.Expr | None:
    """One more score for each head, whose weight nothing gets: its own, or 0; None without."""
    heads = attrs["num_heads"]
    if inputs.has(11):
        return ctx.agreeing(inputs[11], [heads], "a sink for each head")
    smooth = attrs.get("smooth_softmax", 0)
    return ctx.const(np.zeros(heads), inputs.dtype(0)) if smooth else None


def _whole_bias(ctx: Context, inputs: Inputs, batch: Size, heads: Size, length: Size) -> relax.Expr:
    """The attention bias ``[batch or 1, heads or 1, length, columns]``."""
    batches, all_heads = inputs.shape(10)[:2]
    wanted = [1 if batches == 1 else batch, 1 if all_heads == 1 else heads, length]
    return ctx.agreeing(inputs[10], wanted, "the table of scores")


def _bias(ctx: Context, inputs: Inputs, keys: Size) -> relax.Expr:
    """The attention bias, which has no columns for the room behind the keys that there are."""
    shape = inputs.shape(10)
    if shape[3] == keys:
        return inputs[10]
    (total,) = inputs.need_ints(6, "total_sequence_length", low=1)
    given = ctx.agreeing(inputs[10], [*shape[:3], total], "total_sequence_length")
    if total == keys:
        return given
    columns = relax.ShapeExpr(ctx.prims([*shape[:3], keys - total]))
    empty = ctx.emit(relax.op.zeros(columns, inputs.dtype(10)))
    # TVM does not see that the dims of the concat are these.
    return ctx.match_cast(ctx.emit(relax.op.concat([given, empty], 3)), [*shape[:3], keys])


def _repeated(ctx: Context, x: relax.Expr, times: int) -> relax.Expr:
    """Each head of keys or values as often as queries share it."""
    return x if times == 1 else ctx.emit(relax.op.repeat(x, times, 1))


def _cached(
    ctx: Context, past: relax.Expr | None, new: relax.Expr, before: relax.Expr, room: Size
) -> relax.Expr:
    """``[batch, heads, room, size]``: the past, the new ones where it ends, and zeros."""
    batch, count, _, size = ctx.shape(new)
    shape = ctx.prims([batch, count, room, size])

    def element(at: tuple[Any, ...], new: te.Tensor, before: te.Tensor, past: Any) -> Any:
        row = tirx.Cast("int64", at[2]) - before[at[0]]
        rest: Any = tirx.const(0, new.dtype)
        if past is not None:
            kept = tirx.all(row < 0, at[2] < past.shape[2])
            rest = tirx.if_then_else(kept, past[at], rest)
        there = tirx.all(row >= 0, row < new.shape[2])
        return tirx.if_then_else(there, new[at[0], at[1], row, at[3]], rest)

    def cached(new: te.Tensor, before: te.Tensor, past: te.Tensor | None = None) -> te.Tensor:
        return te.compute(shape, lambda *at: element(at, new, before, past), name="cached")

    if past is None:
        return ctx.builder.emit_te(cached, new, before)
    past = ctx.cast(past, [batch, count, ctx.shape(past)[2], size])
    return ctx.builder.emit_te(cached, new, before, past)
