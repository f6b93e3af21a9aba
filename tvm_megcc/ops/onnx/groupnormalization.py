"""GroupNormalization."""

from __future__ import annotations

from tvm import relax

from ...dims import Size, floordiv
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.centred import centred


class GroupNormalization(OnnxOp):
    """``(x - mean) / sqrt(variance + epsilon)`` of each group of channels, scaled and moved.

    Scale and bias are per channel; before opset 21 they are per group.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, channels, *rest = inputs.shape(0)
        groups = int(attrs["num_groups"])
        if groups < 1:
            raise ctx.unsupported(f"num_groups is {groups}", "give 1 or more")
        each = floordiv(channels, groups)
        if isinstance(channels, int) and each * groups != channels:
            raise ctx.ill_typed(f"{channels} channels are no {groups} groups of equal size")
        parts = ctx.reshape(inputs[0], [batch, groups, each, *rest])
        found = centred(ctx, parts, list(range(2, 3 + len(rest))))
        normal = ctx.emit(relax.op.divide(found.value, found.deviation(ctx, attrs)))
        per_group = ctx.opset < 21
        if not per_group:
            normal = ctx.reshape(normal, [batch, channels, *rest])
        wanted, ones = (groups, len(rest) + 1) if per_group else (channels, len(rest))
        scale, bias = (self._spread(ctx, inputs, k, wanted, ones) for k in (1, 2))
        moved = ctx.emit(relax.op.add(ctx.emit(relax.op.multiply(normal, scale)), bias))
        return ctx.reshape(moved, [batch, channels, *rest])

    @staticmethod
    def _spread(ctx: Context, inputs: Inputs, index: int, wanted: Size, ones: int) -> relax.Expr:
        operand = ctx.agreeing(inputs[index], [wanted], "what it is for")
        return ctx.reshape(operand, [1, wanted, *[1] * ones])
