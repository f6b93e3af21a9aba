"""Elements, or their places, where conditions are true."""

from __future__ import annotations

from tvm import relax

from ...dims import product
from ...shapes.axes import normal_axis
from ...shapes.read_from_data import where_true
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Compress(OnnxOp):
    """``take`` at the positions of the true conditions; missing conditions are false.

    There may not be more conditions than elements.
    """

    data_dependent = True
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, axis = inputs[0], attrs.get("axis")
        if axis is None:
            data, axis = ctx.reshape(data, [product(inputs.shape(0))]), 0
        axis = normal_axis(axis, len(ctx.shape(data)))
        (conditions,) = inputs.shape(1)
        data = ctx.at_least(data, axis, conditions)
        positions, _ = where_true(ctx, inputs[1])
        return relax.op.take(data, positions, axis=axis)


class NonZero(OnnxOp):
    """Positions in the flattened tensor, and from them the index along each axis."""

    data_dependent = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        dtype = inputs.dtype(0)
        flags = inputs[0]
        if dtype != "bool":
            flags = ctx.emit(relax.op.not_equal(flags, ctx.const(0, dtype)))
        positions, count = where_true(ctx, ctx.reshape(flags, [product(shape)]))
        rest, rows = positions, []
        for k, dim in reversed(list(enumerate(shape))):
            row = rest
            if k > 0:
                size = ctx.reshape(ctx.sizes([dim], "int64"), [])
                row = ctx.emit(relax.op.floor_mod(rest, size))
                rest = ctx.emit(relax.op.floor_divide(rest, size))
            rows.append(ctx.reshape(row, [1, count]))
        if not rows:  # of a scalar: as many columns as there are, of no row
            return relax.op.zeros(relax.ShapeExpr(ctx.prims([0, count])), "int64")
        return relax.op.concat(rows[::-1], axis=0) if len(rows) > 1 else rows[0]


OPERATORS = [Compress, NonZero]
