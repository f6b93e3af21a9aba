"""MaxPool."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._max_indices import max_indices
from ._window import padded_window, pooled_sizes, window

_POOL = {1: relax.op.nn.max_pool1d, 2: relax.op.nn.max_pool2d, 3: relax.op.nn.max_pool3d}


class MaxPool(OnnxOp):
    """``nn.max_pool{1,2,3}d`` with ``ceil_mode`` turned into padding, which a maximum ignores."""

    name = "MaxPool"
    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims = inputs.shape(0)[2:]
        if len(dims) not in _POOL:
            raise ctx.unsupported(f"{len(dims)} spatial dims", "pool over 1, 2 or 3 dims")
        win = window(ctx, attrs, attrs["kernel_shape"], dims)
        win, _ = pooled_sizes(win, dims, bool(attrs.get("ceil_mode", 0)))
        data, plain = padded_window(ctx, inputs[0], win, _least(inputs.dtype(0)))
        pool = _POOL[len(dims)]
        result = pool(data, plain.kernel, plain.strides, plain.padding, plain.dilations)
        if not ctx.wants(1):
            return result
        result = ctx.emit(result)
        by_column = bool(attrs.get("storage_order", 0))
        return result, max_indices(ctx, inputs[0], result, win, by_column)


def _least(dtype: str) -> float:
    """What a maximum ignores."""
    return float("-inf") if "float" in dtype else float(np.iinfo(dtype).min)
