"""Convolution of any rank, shared by Conv, FusedConv, ConvInteger, QLinearConv, ConvTranspose."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from ..dims import Size
from ._context import Context
from ._window import Window, padded_window

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
    return ctx.emit(
        function(
            data,
            weight,
            strides=win.strides,
            padding=list(win.padding if padding is None else padding),
            dilation=win.dilations,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
        )
    )
