"""Reshape, with the shape as attribute (opset 1) or operand (5), ``allowzero`` (14)."""

from __future__ import annotations

from typing import Any

from tvm import relax

from ..dims import Dim, Size, bounds
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._elements import elements
from ._shapes import product


class Reshape(OnnxOp):
    """``reshape`` to dims that are all spelled out."""

    name = "Reshape"
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        allow_zero = bool(attrs.get("allowzero", 0))
        if "shape" not in attrs and inputs.is_read(1):
            dims = inputs.read(_resolved(ctx, inputs, shape, allow_zero), 1)
            for k, known in enumerate(elements(ctx, inputs[1])):
                # Neither "the rest" nor, unless that is the same, "keep".
                if not isinstance(known, int | Dim):
                    continue
                if (k < len(shape) and known == shape[k]) or bounds(known)[0] > 0:
                    dims[k] = known
            return ctx.reshape(inputs[0], dims)
        wanted = attrs["shape"] if "shape" in attrs else inputs.need_ints(1, "its shape")
        dims = _resolve(wanted, shape, allow_zero)
        if 0 in dims:
            # Relax reads a 0 as "keep", and there is nothing to move anyway.
            return relax.op.zeros(ctx.prims(dims), inputs.dtype(0))
        return ctx.reshape(inputs[0], dims)


def _resolved(
    ctx: Context, inputs: Inputs, shape: tuple[Size, ...], allow_zero: bool
) -> relax.Expr:
    """A target that is computed at run time, 0 ("keep") and -1 ("the rest") replaced."""
    (rank,) = inputs.static_shape(1)
    op, zero, one = relax.op, ctx.const(0, "int64"), ctx.const(1, "int64")
    target = ctx.emit(op.astype(inputs[1], "int64"))
    if not allow_zero:
        same = [*shape, *[0] * rank][:rank]
        target = ctx.emit(op.where(op.equal(target, zero), ctx.sizes(same, "int64"), target))
    free = ctx.emit(op.equal(target, ctx.const(-1, "int64")))
    others = ctx.emit(op.prod(ctx.emit(op.where(free, one, target)), axis=[0], keepdims=True))
    total = ctx.sizes([product(list(shape))], "int64")
    rest = ctx.emit(op.floor_divide(total, ctx.emit(op.maximum(others, one))))
    return ctx.emit(op.where(free, rest, target))


def _resolve(wanted: list[Any], shape: tuple[Size, ...], allow_zero: bool) -> list[Size]:
    dims = [
        shape[i] if isinstance(d, int) and d == 0 and not allow_zero else d
        for i, d in enumerate(wanted)
    ]
    free = [i for i, d in enumerate(dims) if isinstance(d, int) and d == -1]
    if free:
        others, kept = [d for i, d in enumerate(dims) if i != free[0]], list(shape)
        # A dim that stays, a batch mostly, cancels out.
        for dim in [d for d in others if isinstance(d, Dim) and d in kept]:
            if dim in kept:
                kept.remove(dim)
                others.remove(dim)
        rest, total = product(others), product(kept)
        dims[free[0]] = total // rest if rest != 0 else 0
    return dims
