"""DFT, over an axis and of a length that may both be known at run time only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from tvm import relax

from ...dims import Size, floordiv, minimum, product
from ...shapes.axes import normal_axis
from ...shapes.read_from_data import sizes_from
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.fourier import real_signal, resized, transform


@dataclass(frozen=True, slots=True)
class _Axis:
    """How many rows there are before the axis, its length, and how many elements behind it.

    `position` is a size where it is known, else a vector that is true at the axis.
    """

    before: Size
    length: Size
    behind: Size
    position: int | relax.Expr


class DFT(OnnxOp):
    """The rows along the axis through `common.fourier.transform`.

    With ``onesided`` the first half of the bins, of a real signal; with ``inverse``, too, the real
    signal of those bins.
    """

    slow = True
    single = {1: "dft_length", 2: "axis"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        inverse, onesided = bool(attrs.get("inverse", 0)), bool(attrs.get("onesided", 0))
        parts = ctx.static(shape[-1:])[0]
        if parts not in (1, 2):
            raise ctx.ill_typed(f"its last dim is {parts}, not 1 (real) or 2 (complex)")
        if onesided and (parts == 2) != inverse:
            kind = "complex spectrum" if inverse else "real signal"
            raise ctx.unsupported(f"with onesided its operand is no {kind}", "leave onesided out")
        axis = self._axis(ctx, inputs, attrs)
        length = self._length(inputs, axis, inverse and onesided)
        data = inputs[0]
        if onesided and not inverse and length == axis.length and isinstance(axis.position, int):
            # Of no element there is no bin, where ``length // 2 + 1`` would be one.
            others = minimum(1, axis.before * axis.behind)
            data = ctx.at_least(data, axis.position, others)
        rows = ctx.reshape(data, [axis.before, axis.length, axis.behind, parts])
        rows = ctx.emit(relax.op.permute_dims(rows, [0, 2, 1, 3]))
        rows = ctx.reshape(rows, [axis.before * axis.behind, axis.length, parts])
        half = floordiv(length, 2) + 1
        if inverse and onesided:
            rows = real_signal(ctx, resized(ctx, rows, half), length)
        else:
            bins = half if onesided else length
            rows = transform(ctx, resized(ctx, rows, length), bins, inverse, length)
        if inverse:
            rows = _divided(ctx, rows, length)
        return self._placed(ctx, rows, axis, shape)

    def _axis(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> _Axis:
        shape = inputs.shape(0)
        signal = shape[:-1]
        known = inputs.ints(2) if ctx.opset >= 20 else None
        if ctx.opset < 20 or not inputs.has(2):
            known = [attrs.get("axis", 1 if ctx.opset < 20 else -2)]
        if known is None:
            return _axis_from_data(ctx, inputs[2], signal)
        at = normal_axis(known[0], len(shape))
        if not 0 <= at < len(signal):
            raise ctx.ill_typed(f"axis {known[0]} is none of the {len(signal)} axes of its signal")
        return _Axis(product(signal[:at]), signal[at], product(signal[at + 1 :]), at)

    @staticmethod
    def _length(inputs: Inputs, axis: _Axis, to_real: bool) -> Size:
        if inputs.has(1):
            (length,) = inputs.need_ints(1, "its length", low=1)
            return cast(Size, length)
        return 2 * (axis.length - 1) if to_real else axis.length

    @staticmethod
    def _placed(ctx: Context, rows: relax.Expr, axis: _Axis, shape: tuple[Size, ...]) -> relax.Expr:
        """The rows along their axis again."""
        _, length, parts = ctx.shape(rows)
        result = ctx.reshape(rows, [axis.before, axis.behind, length, parts])
        result = ctx.emit(relax.op.permute_dims(result, [0, 2, 1, 3]))
        dims = list(shape[:-1])
        if isinstance(axis.position, int):
            dims[axis.position] = length
        elif length != axis.length:
            where = [ctx.sizes([length], "int64"), ctx.sizes(dims, "int64")]
            found = ctx.emit(relax.op.where(axis.position, *where))
            dims = sizes_from(ctx, found, [f"dim{k}" for k in range(len(dims))], [None] * len(dims))
        return ctx.reshape(result, [*dims, parts])


def _divided(ctx: Context, rows: relax.Expr, length: Size) -> relax.Expr:
    dtype = expr_dtype(rows)
    if isinstance(length, int):
        return ctx.emit(relax.op.multiply(rows, ctx.const(1 / length, dtype)))
    return ctx.emit(relax.op.divide(rows, ctx.sizes([length], dtype)))


def _axis_from_data(ctx: Context, axis: relax.Expr, signal: tuple[Size, ...]) -> _Axis:
    """The axis by an operand: one that is none gives a length of 0, which is refused."""
    op, rank = relax.op, len(signal)
    at = ctx.reshape(ctx.emit(op.astype(axis, "int64")), [1])
    turned = ctx.emit(op.add(at, ctx.const(rank + 1, "int64")))
    at = ctx.emit(op.where(op.less(at, ctx.const(0, "int64")), turned, at))
    numbers = ctx.const(np.arange(rank), "int64")
    dims, one, none = ctx.sizes(signal, "int64"), ctx.const(1, "int64"), ctx.const(0, "int64")
    here = ctx.emit(op.equal(numbers, at))
    parts = [
        op.prod(op.where(op.less(numbers, at), dims, one), [0], keepdims=True),
        op.sum(op.where(here, dims, none), [0], keepdims=True),
        op.prod(op.where(op.greater(numbers, at), dims, one), [0], keepdims=True),
    ]
    counts = ctx.emit(op.concat([ctx.emit(part) for part in parts], 0))
    names = ["before", "length", "behind"]
    before, length, behind = sizes_from(ctx, counts, names, [None] * 3, 1)
    return _Axis(before, length, behind, here)
