"""DequantizeLinear."""

from __future__ import annotations

from tvm import relax

from tvm_megcc.core.dtypes import of_onnx

from . import Attrs, Context, Inputs, Result
from ._quantisation import Linear, beside, numbers
from ._stored import storage


class DequantizeLinear(Linear):
    """The number less the zero point, times the scale."""

    name = "DequantizeLinear"

    def general(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, scale = numbers(ctx, inputs, 0), beside(ctx, inputs, 1, attrs)
        row = storage(inputs.dtype(0))
        if inputs.has(2) and (row is None or not row.is_float):  # that of floats is 0
            x = ctx.emit(relax.op.subtract(x, beside(ctx, inputs, 2, attrs)))
        result = relax.op.multiply(x, scale)
        to = of_onnx(attrs.get("output_dtype", 0))
        if to is None or to.name == "f32":
            return result
        return relax.op.astype(ctx.emit(result), to.numpy)
