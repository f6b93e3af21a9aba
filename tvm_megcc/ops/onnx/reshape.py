"""Reshape, with the shape as attribute (opset 1) or operand (5), ``allowzero`` (14)."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from ...dims import Dim, Size, as_multiple, bounds, compare, floormod, of, product
from ...errors import UnsupportedError
from ...shapes.known_elements import elements
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Reshape(OnnxOp):
    """``reshape`` to dims that are all spelled out."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        allow_zero = bool(attrs.get("allowzero", 0))
        if "shape" not in attrs and inputs.is_read(1):
            inputs.need_few(1)
            dims = inputs.read(_resolved(ctx, inputs, shape, allow_zero), 1)
            for k, known in enumerate(elements(ctx, inputs[1])):
                # Neither "the rest" nor, unless that is the same, "keep".
                if not isinstance(known, int | Dim):
                    continue
                if (k < len(shape) and known == shape[k]) or bounds(known)[0] > 0:
                    dims[k] = known
            return ctx.reshape(inputs[0], dims)
        wanted = attrs["shape"] if "shape" in attrs else inputs.need_ints(1, "its shape")
        _check(ctx, wanted, len(shape), allow_zero)
        dims = _resolve(ctx, wanted, shape, allow_zero)
        return ctx.reshape(inputs[0] if allow_zero else _kept(ctx, inputs[0], wanted), dims)


def _kept(ctx: Context, data: relax.Expr, wanted: Sequence[Size]) -> relax.Expr:
    """Check that a dynamic target dim of 0 stands for an input dim of 0.

    ONNX reads a target dim of 0 as "keep", and which dim is 0 is known at run time only.
    """
    shape = ctx.shape(data)
    for axis, dim in enumerate(wanted):
        if not shape or isinstance(dim, int) or bounds(dim)[0] > 0:
            continue
        own = shape[axis] if axis < len(shape) else 1
        factor = as_multiple(dim)
        if own == 0 or factor and floormod(own, of(factor[1])) == 0:  # 0 where `dim` is
            continue
        place = min(axis, len(shape) - 1)
        data = ctx.limited(data, place, shape[place] - own * compare("eq", dim, 0))
    return data


def _check(ctx: Context, wanted: Sequence[Size], rank: int, allow_zero: bool) -> None:
    known = [d for d in wanted if isinstance(d, int)]
    if min(known, default=0) < -1:
        raise ctx.ill_typed(f"its shape has {min(known)}, which is no size")
    if known.count(-1) > 1:
        raise ctx.ill_typed("its shape leaves more than one dim open (-1)")
    if allow_zero and -1 in known and 0 in known:
        raise _any_rest(ctx)
    if not allow_zero and 0 in wanted[rank:]:
        raise ctx.ill_typed(f"its shape keeps (0) a dim that an operand of rank {rank} lacks")


def _any_rest(ctx: Context) -> UnsupportedError:
    return ctx.ill_typed("its shape has a 0 and leaves a dim open (-1), which may be any")


def _resolved(
    ctx: Context, inputs: Inputs, shape: tuple[Size, ...], allow_zero: bool
) -> relax.Expr:
    """A target that is computed at run time, 0 ("keep") and -1 ("the rest") replaced.

    A -1 without a size that fits stays, and reading the sizes refuses it.
    """
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
    count = ctx.emit(op.sum(ctx.emit(op.astype(free, "int64")), axis=[0], keepdims=True))
    many, empty = ctx.emit(op.greater(count, one)), ctx.emit(op.equal(others, zero))
    many = ctx.emit(op.logical_or(many, empty))
    rest = ctx.emit(op.where(many, ctx.const(-1, "int64"), rest))
    return ctx.emit(op.where(free, rest, target))


def _resolve(
    ctx: Context, wanted: Sequence[Size], shape: tuple[Size, ...], allow_zero: bool
) -> list[Size]:
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
        if rest == 0:
            raise _any_rest(ctx)
        dims[free[0]] = total // rest
    return dims
