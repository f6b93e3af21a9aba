"""Trilu (opset 14)."""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx

from .. import Attrs, Context, Inputs, OnnxOp, Result


class Trilu(OnnxOp):
    """``triu`` or ``tril``; one ``where`` over places if the diagonal is computed at run time."""

    single = {1: "k"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        upper, shape = bool(attrs.get("upper", 1)), inputs.shape(0)
        known = inputs.ints(1) if inputs.has(1) else [0]
        if known is not None and isinstance(known[0], int):
            # Further away than any corner is as far as the corner.
            k = max(min(known[0], 2**31 - 1), -(2**31))
            return (relax.op.triu if upper else relax.op.tril)(inputs[0], k)
        diagonal = ctx.sizes(known, "int64") if known else ctx.reshape(inputs[1], [1])

        def kept(x: te.Tensor, diagonal: te.Tensor) -> te.Tensor:
            def element(*at: Any) -> Any:
                beyond = tirx.Cast("int64", at[-1] - at[-2])
                inside = beyond >= diagonal[0] if upper else beyond <= diagonal[0]
                return tirx.if_then_else(inside, x[at], tirx.const(0, x.dtype))

            return te.compute(x.shape, element, name="trilu")

        assert len(shape) >= 2, shape
        return ctx.builder.emit_te(kept, inputs[0], diagonal)
