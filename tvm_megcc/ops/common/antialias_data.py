"""Antialiased interpolation along an axis whose dims or scale are known at run time only.

How many elements a place takes depends on the scale. So the weights are worked out as a matrix by
one kernel, and the axis is resampled by a product with it, as `common.resize` does with many taps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size
from ...relax_tools.tir_kernels import computed, local
from .context import Context, expr_dtype
from .moved import on_last_axis
from .resample import Options
from .weighted import weighted

Expr: TypeAlias = relax.Expr
op = relax.op


def filtered(
    ctx: Context, data: Expr, axis: int, where: Expr, scale: Expr, size: Size, options: Options,
    finite: bool,
) -> Expr:  # fmt: skip
    """``data`` with an axis of `size` elements resampled.

    Parameters
    ----------
    where : Expr
        ``float32[out]``, where in the input each output element lies.
    scale : Expr
        ``float32[1]``.
    finite : bool
        Whether the data has no infinities and no NaN.
    """
    room, scale = ctx.prim(size), ctx.reshape(scale, [1])

    def weights(where: te.Tensor, scale: te.Tensor, last: te.Tensor) -> te.Tensor:
        made = [((where.shape[0], room), "float64")]
        return computed("weights", [where, scale, last], made, partial(_kernel, options))

    last = ctx.sizes([size - 1], "int64")
    matrix = ctx.emit(ctx.builder.call_te(weights, where, scale, last))
    if not finite:
        return weighted(ctx, data, axis, matrix)
    matrix = ctx.emit(op.permute_dims(op.astype(matrix, expr_dtype(data)), [1, 0]))
    return on_last_axis(ctx, data, axis, lambda x: ctx.emit(op.matmul(x, matrix)))


def _kernel(options: Options, where: Any, scale: Any, last: Any, weight: Any) -> None:
    count, size = weight.shape
    radius, value = _FILTERS[options.mode](options)
    shrink, total, one = (local("float64") for _ in range(3))
    reach, index = (local("int64") for _ in range(2))
    shrink[0] = tirx.min(tirx.Cast("float64", scale[0]), tirx.const(1, "float64"))
    # The first element lies so many before the place, and as many and one more are behind it.
    reach[0] = -tirx.Cast("int64", tirx.floor(tirx.const(-radius, "float64") / shrink[0])) - 1
    with T.serial(0, count) as o:
        with T.serial(0, size) as i:
            weight[o, i] = tirx.const(0, "float64")
        total[0] = tirx.const(0, "float64")
        with T.serial(0, reach[0] * 2 + 2) as k:
            index[0] = tirx.Cast("int64", tirx.floor(where[o])) - reach[0] + k
            distance = tirx.Cast("float64", index[0]) - tirx.Cast("float64", where[o])
            one[0] = value(tirx.abs(distance * shrink[0]))
            if options.exclude_outside:
                outside = tirx.any(index[0] < 0, index[0] > last[0])
                one[0] = tirx.if_then_else(outside, tirx.const(0, "float64"), one[0])
            total[0] = total[0] + one[0]
            index[0] = tirx.max(tirx.min(index[0], last[0]), tirx.const(0, "int64"))
            with T.If(last[0] >= 0), T.Then():
                weight[o, index[0]] = weight[o, index[0]] + one[0]
        with T.serial(0, size) as i:
            weight[o, i] = weight[o, i] / total[0]


def _linear(options: Options) -> tuple[int, Callable[[Any], Any]]:
    one, zero = (tirx.const(v, "float64") for v in (1, 0))
    return 1, lambda x: tirx.max(one - x, zero)


def _cubic(options: Options) -> tuple[int, Callable[[Any], Any]]:
    """The cubic convolution kernel of Keys (1981)."""
    a = options.cubic

    def polynomial(x: Any, *factors: float) -> Any:
        total = tirx.const(factors[0], "float64")
        for factor in factors[1:]:
            total = total * x + tirx.const(factor, "float64")
        return total

    def value(x: Any) -> Any:
        near = polynomial(x, a + 2, -(a + 3), 0.0, 1.0)
        far = polynomial(x, a, -5 * a, 8 * a, -4 * a)
        zero = tirx.const(0, "float64")
        return tirx.if_then_else(x <= 1, near, tirx.if_then_else(x < 2, far, zero))

    return 2, value


_FILTERS = {"linear": _linear, "cubic": _cubic}
