"""DequantizeLinear."""

from __future__ import annotations

import numpy as np
from tvm import relax

from tvm_megcc.core.dtypes import of_numpy, of_onnx

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, Result
from ..common.dequantised import dequantised
from ..common.quantisation import Linear, beside, numbers
from ..common.stored import storage


class DequantizeLinear(Linear):
    """The number less the zero point, times the scale."""

    name = "DequantizeLinear"

    def general(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        weights = _weights(ctx, inputs, attrs)
        if weights is not None:
            return weights
        x, scale = numbers(ctx, inputs, 0), beside(ctx, inputs, 1, attrs)
        row = storage(inputs.dtype(0))
        if inputs.has(2) and (row is None or not row.is_float):  # that of floats is 0
            x = ctx.emit(relax.op.subtract(x, beside(ctx, inputs, 2, attrs)))
        result = relax.op.multiply(x, scale)
        to = of_onnx(attrs.get("output_dtype", 0))
        if to is None or to.name == "f32":
            return result
        return relax.op.astype(ctx.emit(result), to.numpy)


def _weights(ctx: Context, inputs: Inputs, attrs: Attrs) -> relax.Expr | None:
    """A constant matrix of at most 8 bits that becomes f32, in the form that kernels are for."""
    data, scale = inputs.known(0), inputs.known(1)
    zero = inputs.known(2)
    if data is None or scale is None or data.ndim != 2 or scale.dtype != np.float32:
        return None
    row, to = of_numpy(str(data.dtype)), of_onnx(attrs.get("output_dtype", 0))
    is_wide = row is None or row.bits > 8 or row.is_float
    if is_wide or (inputs.has(2) and zero is None) or (to is not None and to.name != "f32"):
        return None
    axis, block = normal_axis(attrs.get("axis", 1), 2), int(attrs.get("block_size", 0))
    if block:
        wanted = [*data.shape]
        wanted[axis] = -(-wanted[axis] // block)
        if list(scale.shape) != wanted:
            return None  # what is wrong with it is said where it is spread
    return dequantised(ctx, data, scale, zero, axis, block)
