"""Scaled dot product attention of com.microsoft's operators, and its masks.

Queries, keys and values are ``[batch, heads, length, head size]``; a mask is what is added to the
scores, and broadcasts to ``[batch, heads, queries, keys]``.
"""

from __future__ import annotations

from functools import reduce
from math import sqrt

import numpy as np
from tvm import relax

from ...dims import Size
from ...shapes.constraints import broadcast, mismatch, unify
from .context import Attrs, Context, expr_dtype
from .inputs import Inputs


def heads(ctx: Context, x: relax.Expr, count: int) -> relax.Expr:
    """``[batch, length, heads * size]`` as ``[batch, heads, length, size]``."""
    return ctx.emit(relax.op.permute_dims(heads_behind(ctx, x, count), [0, 2, 1, 3]))


def heads_behind(ctx: Context, x: relax.Expr, count: int) -> relax.Expr:
    """``[batch, length, heads * size]`` as ``[batch, length, heads, size]``."""
    batch, length, hidden = ctx.shape(x)
    size = ctx.static([hidden])[0] // count
    return ctx.reshape(x, [batch, length, count, size])


def joined(ctx: Context, x: relax.Expr) -> relax.Expr:
    """`heads`, back."""
    batch, count, length, size = ctx.shape(x)
    x = ctx.emit(relax.op.permute_dims(x, [0, 2, 1, 3]))
    return ctx.reshape(x, [batch, length, count * size])


def scores(
    ctx: Context, q: relax.Expr, k: relax.Expr, scale: float, *masks: relax.Expr | None
) -> relax.Expr:
    """``q @ k`` scaled, plus the masks; a scale of 0 is the default, by the size of a head."""
    op, dtype = relax.op, expr_dtype(q)
    factor = scale or 1 / sqrt(ctx.static(ctx.shape(q)[3:])[0])
    turned = ctx.emit(op.permute_dims(k, [0, 1, 3, 2]))
    found = ctx.emit(op.multiply(op.matmul(q, turned), ctx.const(np.float32(factor), dtype)))
    return masked(ctx, found, *masks)


def masked_scores(
    ctx: Context,
    inputs: Inputs,
    attrs: Attrs,
    q: relax.Expr,
    k: relax.Expr,
    mask: int,
    past: relax.Expr | None,
) -> relax.Expr:
    """The `scores` with a padding mask (operand `mask`), ``unidirectional`` and operand 5."""
    (batch, _, queries, _), keys, dtype = ctx.shape(q), ctx.shape(k)[2], inputs.dtype(0)
    masks = []
    if inputs.has(mask):
        value = attrs.get("mask_filter_value", -10000.0)
        masks.append(padding(ctx, inputs[mask], batch, keys, value, dtype))
    if attrs.get("unidirectional", 0):
        masks.append(causal(ctx, queries, keys, past, dtype))
    return scores(ctx, q, k, attrs.get("scale", 0.0), inputs[5], *masks)


def masked(ctx: Context, found: relax.Expr, *masks: relax.Expr | None) -> relax.Expr:
    """Add masks to attention scores; None is no mask.

    A mask's dims are 1 or those of the scores; the model is ill-typed with others.
    """
    there = [mask for mask in masks if mask is not None]
    if not there:
        return found
    rule = broadcast(whole=0)
    for mask in there:
        if mismatch(ctx, rule, [found, mask], {}):
            dims, wanted = (", ".join(map(str, ctx.shape(x))) for x in (mask, found))
            raise ctx.ill_typed(f"a mask of [{dims}] does not fit scores of [{wanted}]")
    # A dim that is known of one operand is known of all.
    scored, *there = unify(ctx, rule, [found, *there], {})
    total = reduce(lambda a, b: ctx.emit(relax.op.add(a, b)), there)
    return ctx.cast(relax.op.add(scored, total), ctx.shape(found))


def attended(ctx: Context, weights: relax.Expr, v: relax.Expr) -> relax.Expr:
    """``[batch, queries, heads * size]``."""
    return joined(ctx, ctx.emit(relax.op.matmul(weights, v)))


def appended(ctx: Context, past: relax.Expr | None, new: relax.Expr) -> relax.Expr:
    """The new keys or values behind those of the past."""
    if past is None:
        return new
    batch, count, length, size = ctx.shape(new)
    before = ctx.shape(past)[2]
    past = ctx.cast(past, [batch, count, before, size])
    whole = ctx.emit(relax.op.concat([past, new], 2))
    return ctx.cast(whole, [batch, count, before + length, size])


def causal(
    ctx: Context, queries: Size, keys: Size, past: relax.Expr | None, dtype: str
) -> relax.Expr:
    """``[1, 1, queries, keys]``: no query sees keys behind it; the first of both after the past
    are one token, also where there are more of the one than of the other. As ONNX Runtime has it,
    the last query sees all keys."""
    op = relax.op
    row = ctx.emit(op.arange(0, ctx.prim(queries), 1, "int64"))
    before = 0 if past is None else ctx.shape(past)[2]
    if keys - before != queries:
        last = ctx.emit(op.equal(row, ctx.sizes([queries - 1], "int64")))
        row = ctx.emit(op.where(last, ctx.sizes([keys], "int64"), row))
    if past is not None:
        row = ctx.emit(op.add(row, ctx.sizes([before], "int64")))
    column = ctx.emit(op.arange(0, ctx.prim(keys), 1, "int64"))
    seen = op.greater_equal(ctx.reshape(row, [queries, 1]), column)
    return _filter(ctx, ctx.reshape(ctx.emit(seen), [1, 1, queries, keys]), LOWEST, dtype)


#: Added to a score, it hides the key completely.
LOWEST = float(np.finfo(np.float32).min)


def padding(
    ctx: Context, mask: relax.Expr, batch: Size, keys: Size, value: float, dtype: str
) -> relax.Expr:
    """Attention mask to add to scores: 0 for keys that count, `value` for the others.

    `mask` holds integers in one of four forms: ``[batch, keys]`` or ``[batch, queries, keys]``
    with 1 for keys that count; ``[batch]`` with the end of the keys that count; ``[2 * batch]``
    with all ends, then all starts.
    """
    op, shape = relax.op, ctx.shape(mask)
    if len(shape) == 4:
        raise ctx.unsupported("a mask of 4 dims", "give one of 1, 2 or 3")
    if len(shape) > 1:
        mask = ctx.cast(mask, [batch, *shape[1:-1], keys])
        kept = ctx.emit(op.greater(mask, ctx.const(0, expr_dtype(mask))))
        middle = [1, 1] if len(shape) == 2 else [1, shape[1]]
        return _filter(ctx, ctx.reshape(kept, [batch, *middle, keys]), value, dtype)
    number = ctx.emit(op.arange(0, ctx.prim(keys), 1, expr_dtype(mask)))
    ends, starts = mask, None
    if shape[0] == 2 * batch and shape[0] != batch:
        halves = ctx.reshape(mask, [2, batch])
        ends, starts = (ctx.emit(op.take(halves, ctx.const(k, "int64"), axis=0)) for k in (0, 1))
    kept = ctx.emit(op.less(number, ctx.reshape(ends, [batch, 1])))
    if starts is not None:
        after = op.greater_equal(number, ctx.reshape(starts, [batch, 1]))
        kept = ctx.emit(op.logical_and(kept, ctx.emit(after)))
    return _filter(ctx, ctx.reshape(kept, [batch, 1, 1, keys]), value, dtype)


def _filter(ctx: Context, kept: relax.Expr, value: float, dtype: str) -> relax.Expr:
    return ctx.emit(relax.op.where(kept, ctx.const(0, dtype), ctx.const(value, dtype)))
