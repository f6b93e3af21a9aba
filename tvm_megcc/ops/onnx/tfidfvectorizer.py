"""TfIdfVectorizer of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax

from ...dims import Size
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype

Gram = tuple[int, ...]


class TfIdfVectorizer(OnnxOp):
    """Each n-gram of the pool is compared with what stands at every place of every row.

    A weight is that of an n-gram, as ONNX's text and ONNX Runtime have it; onnx.reference takes it
    for that of a place of the output.
    """

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if "pool_int64s" not in attrs:
            raise ctx.unsupported("its pool is of strings", "give it a pool of numbers")
        shape, places = inputs.shape(0), attrs["ngram_indexes"]
        if len(shape) not in (1, 2):
            raise ctx.ill_typed(f"its operand has {len(shape)} dims, not 1 or 2")
        batch, length = (1, *shape)[-2:]
        data = ctx.reshape(ctx.emit(relax.op.astype(inputs[0], "int64")), [batch, length])
        if min(places, default=-1) < 0:
            raise ctx.ill_typed(f"its ngram_indexes {list(places)} are no places of a result")
        size, outputs = attrs["max_gram_length"], max(places) + 1
        weights = _weights(ctx, attrs)
        columns: list[list[int]] = [[] for _ in range(outputs)]
        counts: list[relax.Expr] = []
        scales: list[float] = []
        number = 0
        for count, grams in _pool(attrs).items():
            if not attrs["min_gram_length"] <= count <= size or not grams:
                continue
            skips = range(1 if count == 1 else attrs["max_skip_count"] + 1)
            # A place of the output counts all n-grams that name it.
            for gram in grams:
                columns[places[grams[gram]]].append(number)
                scales.append(weights[grams[gram]])
                number += 1
            found = [_found(ctx, data, length, list(grams), skip + 1) for skip in skips]
            total = found[0]
            for other in found[1:]:
                total = ctx.emit(relax.op.add(total, other))
            if attrs["mode"] == "TFIDF":
                total = _scaled(ctx, total, [weights[k] for k in grams.values()])
            counts.append(total)
        result = _placed(ctx, counts, columns, batch, number)
        if attrs["mode"] == "IDF":
            result = ctx.emit(relax.op.minimum(result, ctx.const(1, expr_dtype(result))))
            result = _scaled(ctx, result, _of_places(ctx, columns, scales))
        return ctx.reshape(result, [*shape[:-1], outputs])


def _weights(ctx: Context, attrs: Attrs) -> Sequence[float]:
    """A weight for each n-gram of the pool."""
    if attrs["mode"] not in ("TF", "IDF", "TFIDF"):
        raise ctx.unsupported(f"mode '{attrs['mode']}'", "use TF, IDF or TFIDF")
    places = attrs["ngram_indexes"]
    weights: Sequence[float] = attrs.get("weights") or [1.0] * len(places)
    if len(weights) != len(places):
        raise ctx.ill_typed(f"{len(weights)} weights for {len(places)} n-grams")
    return weights


def _of_places(
    ctx: Context, columns: Sequence[Sequence[int]], scales: Sequence[float]
) -> list[float]:
    """The weight of each place of the output, by those of its n-grams."""
    found = [{scales[k] for k in column} or {1.0} for column in columns]
    if any(len(own) > 1 for own in found):
        raise ctx.unsupported(
            "n-grams of one place of the output have several weights, of which mode IDF takes one",
            "give them the same weight",
        )
    return [own.pop() for own in found]


def _scaled(ctx: Context, counts: relax.Expr, scales: Sequence[float]) -> relax.Expr:
    if all(scale == 1 for scale in scales):
        return counts
    return ctx.emit(relax.op.multiply(counts, ctx.const(np.array(scales), expr_dtype(counts))))


def _pool(attrs: Attrs) -> dict[int, dict[Gram, int]]:
    """For each length its n-grams and their numbers; of equal ones the last."""
    pool, starts = attrs["pool_int64s"], attrs["ngram_counts"]
    found: dict[int, dict[Gram, int]] = {}
    number = 0
    for size, (start, end) in enumerate(
        zip(starts, [*starts[1:], len(pool)], strict=True), start=1
    ):
        grams = found.setdefault(size, {})
        for at in range(start, end - size + 1, size):
            grams[tuple(pool[at : at + size])] = number
            number += 1
    return found


def _found(
    ctx: Context, data: relax.Expr, length: Size, grams: Sequence[Gram], step: int
) -> relax.Expr:
    """``[batch, n-grams]``: how often each stands in a row, its elements `step` apart."""
    op, size = relax.op, len(grams[0])
    reach = (size - 1) * step
    batch = ctx.shape(data)[0]
    wide = ctx.emit(op.nn.pad(data, [0, 0, 0, reach])) if reach else data
    there = None
    for k in range(size):
        part = wide
        if reach:
            begin, end = [k * step], [ctx.prim(length + k * step)]
            part = ctx.emit(op.strided_slice(wide, [1], begin, end, [1], assume_inbound=True))
        part = ctx.reshape(part, [batch, length, 1])
        wanted = ctx.const(np.array([gram[k] for gram in grams]), "int64")
        equal = ctx.emit(op.equal(part, wanted))
        there = equal if there is None else ctx.emit(op.logical_and(there, equal))
    if reach:
        last = ctx.emit(op.subtract(ctx.sizes([length], "int64"), ctx.const(reach, "int64")))
        numbers = ctx.emit(op.arange(0, ctx.prim(length), 1, "int64"))
        inside = ctx.reshape(ctx.emit(op.less(numbers, last)), [length, 1])
        there = ctx.emit(op.logical_and(there, inside))
    return ctx.emit(op.sum(ctx.emit(op.astype(there, "float32")), [1]))


def _placed(
    ctx: Context, counts: list[relax.Expr], columns: list[list[int]], batch: Size, number: int
) -> relax.Expr:
    """``[batch, outputs]``: the sum of the counts that each output has."""
    zero = ctx.emit(relax.op.zeros(relax.ShapeExpr(ctx.prims([batch, 1])), "float32"))
    counts = [*counts, zero]
    together = counts[0] if len(counts) == 1 else ctx.emit(relax.op.concat(counts, 1))
    result = None
    for k in range(max(1, *map(len, columns))):
        places = [column[k] if k < len(column) else number for column in columns]
        part = ctx.emit(relax.op.take(together, ctx.const(places, "int64"), 1, "clip"))
        result = part if result is None else ctx.emit(relax.op.add(result, part))
    return result
