"""DynamicQuantizeLinear."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class DynamicQuantizeLinear(OnnxOp):
    """To bytes, by the range of the data widened to take in 0."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = inputs[0]
        zero, top, one = (ctx.const(v, "float32") for v in (0, 255, 1))
        low = ctx.emit(relax.op.minimum(relax.op.min(x), zero))
        high = ctx.emit(relax.op.maximum(relax.op.max(x), zero))
        scale = ctx.emit(relax.op.divide(relax.op.subtract(high, low), top))
        # Of zeros alone any scale is right; 0 would make no numbers of them.
        scale = ctx.emit(relax.op.where(relax.op.equal(high, low), one, scale))
        share = ctx.emit(relax.op.divide(relax.op.negative(low), scale))
        # Of an infinite range it is no number: then 255, as every implementation's clamp has it.
        point = self._byte(relax.op.where(relax.op.isnan(share), top, share))
        point = ctx.emit(point)
        steps = relax.op.round(relax.op.divide(x, scale))
        shifted = relax.op.add(steps, relax.op.astype(point, "float32"))
        return self._byte(shifted), scale, point

    @staticmethod
    def _byte(value: relax.Expr) -> relax.Expr:
        return relax.op.astype(relax.op.clip(relax.op.round(value), 0, 255), "uint8")
