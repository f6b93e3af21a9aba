"""ai.onnx.ml::Normalizer."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class Normalizer(OnnxOp):
    """Each row by its largest element (MAX), its sum (L1) or its length (L2); not by 0.

    MAX is that of the elements with their signs, as ONNX Runtime has it. Numbers of 64 bits have
    sums that f32 does not hold.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, norm = relax.op, attrs.get("norm", "MAX")
        axis = [inputs.rank(0) - 1]
        dtype = "float64" if inputs.dtype(0) in ("int64", "float64") else "float32"
        x = inputs[0]
        if inputs.dtype(0) != dtype:
            x = ctx.emit(op.astype(x, dtype))
        if norm == "MAX":
            size = op.max(x, axis, keepdims=True)
        elif norm == "L1":
            size = op.sum(ctx.emit(op.abs(x)), axis, keepdims=True)
        elif norm == "L2":
            squares = ctx.emit(op.sum(ctx.emit(op.multiply(x, x)), axis, keepdims=True))
            size = op.sqrt(squares)
        else:
            raise ctx.unsupported(f"norm '{norm}'", "use MAX, L1 or L2")
        size = ctx.emit(size)
        none = ctx.emit(op.equal(size, ctx.const(0, dtype)))
        result = op.divide(x, ctx.emit(op.where(none, ctx.const(1, dtype), size)))
        return ctx.as_f32(ctx.emit(result))
