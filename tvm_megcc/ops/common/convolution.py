"""Convolution of any rank, shared by Conv, FusedConv, ConvInteger, QLinearConv, ConvTranspose."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from ...dims import Size, floordiv
from .context import Context, expr_dtype
from .window import Window, padded_window

_CONV = {
    1: (relax.op.nn.conv1d, "NCW", "OIW"),
    2: (relax.op.nn.conv2d, "NCHW", "OIHW"),
    3: (relax.op.nn.conv3d, "NCDHW", "OIDHW"),
}


def convolve(
    ctx: Context,
    data: relax.Expr,
    weight: relax.Expr,
    win: Window,
    groups: int,
    padding: Sequence[Size] | None = None,
) -> relax.Expr:
    """``nn.conv{1,2,3}d`` in ONNX's layouts, without the bias."""
    rank = len(win.kernel)
    if rank not in _CONV:
        raise ctx.unsupported(f"{rank} spatial dims", "reshape to 1, 2 or 3 spatial dims")
    function, data_layout, kernel_layout = _CONV[rank]
    if padding is None:
        data, win = padded_window(ctx, data, win, 0.0)
    padding = win.padding if padding is None else padding
    batch, _, *dims = ctx.shape(data)
    places = [
        floordiv(size + padding[k] + padding[rank + k] - win.reach(k), win.strides[k]) + 1
        for k, size in enumerate(dims)
    ]
    if 0 in places:  # TVM has no convolution whose result is empty
        shape = ctx.prims([batch, ctx.shape(weight)[0], *places])
        return ctx.emit(relax.op.zeros(relax.ShapeExpr(shape), expr_dtype(data)))
    return ctx.emit(
        function(
            data,
            weight,
            strides=win.strides,
            padding=list(padding),
            dilation=win.dilations,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
        )
    )
