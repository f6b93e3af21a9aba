"""ai.onnx.ml::Normalizer."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Normalizer(OnnxOp):
    """Each row by its largest element (MAX), its sum (L1) or its length (L2); not by 0.

    MAX is that of the elements with their signs, as ONNX Runtime has it.
    """

    name = "Normalizer"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, norm = relax.op, attrs.get("norm", "MAX")
        axis = [inputs.rank(0) - 1]
        x = ctx.as_f32(inputs[0])
        if norm == "MAX":
            size = op.max(x, axis, keepdims=True)
        elif norm == "L1":
            size = op.sum(ctx.emit(op.abs(x)), axis, keepdims=True)
        elif norm == "L2":
            squares = ctx.emit(op.sum(ctx.emit(op.multiply(x, x)), axis, keepdims=True))
            # ONNX Runtime gives the root of the share of each square, with the element's sign.
            size = op.sqrt(squares)
        else:
            raise ctx.unsupported(f"norm '{norm}'", "use MAX, L1 or L2")
        size = ctx.emit(size)
        none = ctx.emit(op.equal(size, ctx.const(0, "float32")))
        return op.divide(x, ctx.emit(op.where(none, ctx.const(1, "float32"), size)))
