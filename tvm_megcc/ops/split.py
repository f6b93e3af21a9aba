"""Split: sizes as attribute or operand (opset 13), ``num_outputs`` (18), or even."""

from __future__ import annotations

from itertools import accumulate

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import normal_axis


class Split(OnnxOp):
    """``split`` at constant positions."""

    name = "Split"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = normal_axis(attrs.get("axis", 0), len(shape))
        sizes = inputs.need_ints(1, "its sizes") if inputs.has(1) else attrs.get("split")
        if sizes is None:
            if not isinstance(shape[axis], int):
                raise ctx.unsupported(
                    f"splits axis {axis}, of symbolic size, evenly", "fix it with --input-shapes"
                )
            sizes = _even(shape[axis], len(ctx.outputs))
        if len(sizes) == 1:
            return inputs[0]
        parts = ctx.emit(relax.op.split(inputs[0], list(accumulate(sizes))[:-1], axis))
        return tuple(relax.TupleGetItem(parts, i) for i in range(len(sizes)))


def _even(size: int, count: int) -> list[int]:
    """Equal parts, the last one smaller where they do not fit."""
    part = -(-size // count)
    return [part] * (count - 1) + [size - part * (count - 1)]
