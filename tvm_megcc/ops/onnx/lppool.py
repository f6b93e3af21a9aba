"""LpPool."""

from __future__ import annotations

from math import prod

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.window import padded_window, pooled_sizes, window

_POOL = {1: relax.op.nn.avg_pool1d, 2: relax.op.nn.avg_pool2d, 3: relax.op.nn.avg_pool3d}


class LpPool(OnnxOp):
    """The p-th root of the sum of p-th powers: an average that counts the padding, which is 0."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims, dtype = inputs.shape(0)[2:], inputs.dtype(0)
        if len(dims) not in _POOL:
            raise ctx.unsupported(f"{len(dims)} spatial dims", "pool over 1, 2 or 3 dims")
        power = order(ctx, attrs)
        asked = window(ctx, attrs, attrs["kernel_shape"], dims)
        grown, _ = pooled_sizes(asked, dims, attrs)
        powers = ctx.emit(raised(ctx, relax.op.abs(inputs[0]), power, dtype))
        powers, win = padded_window(ctx, powers, grown, 0)
        mean = ctx.emit(
            _POOL[len(dims)](
                powers, win.kernel, win.strides, win.padding, win.dilations, count_include_pad=True
            )
        )
        total = relax.op.multiply(mean, ctx.const(prod(win.kernel), dtype))
        return raised(ctx, total, 1 / power, dtype)


def order(ctx: Context, attrs: Attrs) -> int:
    """``p``, of which ONNX wants 1 or more."""
    found = int(attrs.get("p", 2))
    if found < 1:
        raise ctx.unsupported(f"p is {found}", "give 1 or more")
    return found


def raised(ctx: Context, x: relax.Expr, power: float, dtype: str) -> relax.Expr:
    """``x ** power`` of numbers that are not negative."""
    simple = {1: lambda: x, 2: lambda: relax.op.multiply(x, x), 0.5: lambda: relax.op.sqrt(x)}
    if power in simple:
        x = ctx.emit(x)
        return simple[power]()
    return relax.op.power(x, ctx.const(power, dtype))
