"""Mod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax

from ... import dims
from ...shapes.arithmetic import Known, elementwise, size
from ...shapes.constraints import broadcast
from ...shapes.sizes import Item, NotShapes, truncdiv
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Mod(OnnxOp):
    """The remainder, with the sign of the divisor, or with ``fmod`` of the dividend."""

    labels = staticmethod(broadcast())

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        a, b, dtype = inputs[0], inputs[1], inputs.dtype(0)
        if attrs.get("fmod", 0):
            return relax.op.mod(a, b)
        if "float" not in dtype:
            return relax.op.floor_mod(a, b)
        # a - floor(a / b) * b would be no number where b is infinite.
        rest = ctx.emit(relax.op.mod(a, b))
        zero = ctx.const(0, dtype)
        below = ctx.emit(relax.op.less(b, zero))
        other_sign = relax.op.not_equal(relax.op.less(rest, zero), below)
        moved = relax.op.where(other_sign, relax.op.add(rest, b), rest)
        signed_zero = relax.op.where(below, ctx.const(-0.0, dtype), zero)
        return relax.op.where(relax.op.equal(rest, zero), signed_zero, moved)

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        def remainder(a: Item, b: Item) -> Item:
            a, b = size(a), size(b)
            if attrs.get("fmod", 0):
                return a - b * truncdiv(a, b)
            if dims.bounds(b)[0] < 0 or b == 0:
                raise NotShapes
            return dims.floormod(a, b)

        return elementwise(remainder)(operands, attrs)
