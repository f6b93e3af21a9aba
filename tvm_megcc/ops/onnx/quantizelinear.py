"""QuantizeLinear."""

from __future__ import annotations

from tvm import relax

from tvm_megcc.core.dtypes import DType, of_numpy, of_onnx

from .. import Attrs, Context, Inputs, Result
from ..common.quantisation import Linear, beside, numbers
from ..common.quantised import saturated
from ..common.stored import encoded


class QuantizeLinear(Linear):
    """The quotient by the scale: rounded, moved by the zero point and saturated, or as a float."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        for k in (0, 1):
            if inputs.dtype(k) == "int32":  # which TVM neither divides nor divides by
                inputs = inputs.replaced(k, ctx.as_f32(inputs[k]))
        return super().convert(ctx, inputs, attrs)

    def general(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        to = of_onnx(attrs["output_dtype"]) if attrs.get("output_dtype") else of_numpy("uint8")
        if inputs.has(2):
            point = of_numpy(inputs.dtype(2))
            if attrs.get("output_dtype") and to is not point:
                raise ctx.ill_typed(f"its zero point is {inputs.dtype(2)}, its output_dtype not")
            to = point
        if to is None:
            raise ctx.unsupported("no tensor here can be of its output_dtype", "quantise to i8")
        x, scale = numbers(ctx, inputs, 0), beside(ctx, inputs, 1, attrs)
        precision = of_onnx(attrs.get("precision", 0))
        quotient = relax.op.divide(_rounded(ctx, x, precision), _rounded(ctx, scale, precision))
        quotient = _rounded(ctx, ctx.emit(quotient), precision)
        zero = beside(ctx, inputs, 2, attrs) if inputs.has(2) else None
        if to.is_float:
            if zero is not None and to.is_packed:  # that of 8-bit floats is 0
                quotient = ctx.emit(relax.op.add(quotient, zero))
            return encoded(ctx, quotient, to, bool(attrs.get("saturate", 1)))
        whole = ctx.emit(relax.op.round(quotient))
        if zero is not None:
            whole = ctx.emit(relax.op.add(whole, zero))
        low = 0 if to.numpy.startswith("u") else -(1 << (to.bits - 1))
        result = saturated(ctx, whole, low, low + (1 << to.bits) - 1, to.held_numpy)
        return ctx.stored_as(result, to.numpy) if to.is_storage else result


def _rounded(ctx: Context, x: relax.Expr, precision: DType | None) -> relax.Expr:
    """An f32 as a number that half precision has, where the node wants that."""
    if precision is None or precision.name not in ("f16", "bf16"):
        return x
    narrow = ctx.emit(relax.op.astype(x, precision.numpy))
    return ctx.emit(relax.op.astype(narrow, "float32"))
