"""Weighted sums along an axis of data with infinities or NaN.

A product with a matrix would add 0 times every other element, which is NaN for an infinity or NaN.
"""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx

from .context import Context, expr_dtype


def weighted(
    ctx: Context, data: relax.Expr, axis: int, weights: relax.Expr, index: relax.Expr | None = None
) -> relax.Expr:
    """``data`` with an axis of as many elements as `weights` has rows.

    Parameters
    ----------
    weights : Expr
        A number for each result and tap; what has 0 adds nothing.
    index : Expr, optional
        ``int64``, of the same shape: which elements the taps are; by default all, in order.
    """
    dtype = expr_dtype(data)
    wide = "float32" if dtype == "float16" else dtype
    data, weights = (_cast(ctx, v, wide) for v in (data, weights))

    def summed(data: te.Tensor, weights: te.Tensor, *index: te.Tensor) -> te.Tensor:
        out, count = weights.shape
        tap = te.reduce_axis((0, count), "tap")

        def element(*at: Any) -> Any:
            place = list(at)
            place[axis] = index[0][at[axis], tap] if index else tap
            weight, nothing = weights[at[axis], tap], tirx.const(0, wide)
            term = tirx.if_then_else(weight != nothing, data[tuple(place)] * weight, nothing)
            return te.sum(term, axis=tap)

        shape = [out if k == axis else size for k, size in enumerate(data.shape)]
        return te.compute(shape, element, name="resampled")

    operands = [data, weights] if index is None else [data, weights, index]
    return _cast(ctx, ctx.builder.emit_te(summed, *operands), dtype)


def _cast(ctx: Context, value: relax.Expr, dtype: str) -> relax.Expr:
    return value if expr_dtype(value) == dtype else ctx.emit(relax.op.astype(value, dtype))
