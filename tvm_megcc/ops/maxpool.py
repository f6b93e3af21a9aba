"""MaxPool without its Indices output."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._window import pooled_sizes, window

_POOL = {1: relax.op.nn.max_pool1d, 2: relax.op.nn.max_pool2d, 3: relax.op.nn.max_pool3d}


class MaxPool(OnnxOp):
    """``nn.max_pool{1,2,3}d`` with ``ceil_mode`` turned into padding, which a maximum ignores."""

    name = "MaxPool"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if ctx.wants(1):
            raise ctx.unsupported("its output Indices is used", "do without MaxPool's indices")
        dims = inputs.shape(0)[2:]
        if len(dims) not in _POOL:
            raise ctx.unsupported(f"{len(dims)} spatial dims", "pool over 1, 2 or 3 dims")
        win = window(ctx, attrs, attrs["kernel_shape"], dims)
        win, _ = pooled_sizes(ctx, win, dims, bool(attrs.get("ceil_mode", 0)))
        return _POOL[len(dims)](inputs[0], win.kernel, win.strides, win.padding, win.dilations)
