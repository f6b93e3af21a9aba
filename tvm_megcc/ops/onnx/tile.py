"""Tile."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import relax

from ...dims import is_static
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Tile(OnnxOp):
    """``tile``; repeats that depend on the shapes make a ``broadcast_to`` between two reshapes."""

    moves = (0,)

    def generated(self, operands: Sequence[Any]) -> int:
        return int(operands[0].size) * prod(int(d) for d in operands[1])

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        repeats = inputs.need_ints(1, "its repeats", 0)
        if ctx.opset < 6:
            (axis,) = inputs.need_ints(2, "its axis")
            repeats = [repeats[0] if k == axis else 1 for k in range(inputs.rank(0))]
        if is_static(repeats):
            return relax.op.tile(inputs[0], repeats)
        shape = inputs.shape(0)
        apart = [d for dim in shape for d in (1, dim)]
        spread = [d for pair in zip(repeats, shape, strict=True) for d in pair]
        whole = [r * d for r, d in zip(repeats, shape, strict=True)]
        data = ctx.reshape(inputs[0], apart)
        data = ctx.emit(relax.op.broadcast_to(data, ctx.prims(spread)))
        return ctx.reshape(data, whole)
