"""TensorScatter (opset 24): rows written into a cache of keys or values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tvm import relax, te, tirx

from ...dims import compare
from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result


class TensorScatter(OnnxOp):
    """For each place of the cache: the update's row where it is one of those, else what it was.

    Where rows would be written beyond a linear cache the run ends.
    """

    slow = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        rank = len(shapes[0] or ())
        axis = normal_axis(attrs.get("axis", -2), rank)
        row: list[Hashable] = [None if k == axis else k for k in range(rank)]
        rows: Labels = [row, row, [0]]
        return rows[: len(shapes)]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = normal_axis(attrs.get("axis", -2), len(shape))
        if axis == 0:
            raise ctx.ill_typed("its axis is 0, which is that of the batch")
        circular = attrs.get("mode", "linear") == "circular"
        count = inputs.shape(1)[axis]
        if compare("lt", shape[axis], count) == 1:
            raise ctx.ill_typed(f"{count} rows for a cache of {shape[axis]}")
        op = relax.op
        if inputs.has(2):
            starts = ctx.emit(op.astype(inputs[2], "int64"))
        else:
            starts = ctx.emit(op.zeros(relax.ShapeExpr(ctx.prims(shape[:1])), "int64"))
        zero, room = ctx.const(0, "int64"), ctx.sizes([shape[axis] - count], "int64")
        room = ctx.reshape(room, [])
        holds = op.greater_equal(room, zero)
        if not circular:
            holds = op.logical_and(
                op.greater_equal(op.min(starts), zero), op.less_equal(op.max(starts), room)
            )
        starts = ctx.checked(starts, ctx.emit(holds))

        def written(cache: te.Tensor, update: te.Tensor, starts: te.Tensor) -> te.Tensor:
            def element(*at: Any) -> Any:
                row = tirx.Cast("int64", at[axis]) - starts[at[0]]
                if circular:
                    row = tirx.floormod(row, tirx.Cast("int64", cache.shape[axis]))
                there = tirx.all(row >= 0, row < update.shape[axis])
                place = (*at[:axis], row, *at[axis + 1 :])
                return tirx.if_then_else(there, update[place], cache[at])

            return te.compute(cache.shape, element, name="written")

        return ctx.builder.emit_te(written, inputs[0], inputs[1], starts)
