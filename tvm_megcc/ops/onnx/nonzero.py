"""NonZero."""

from __future__ import annotations

from tvm import relax

from ...dims import product
from ...shapes.read_from_data import where_true
from .. import Attrs, Context, Inputs, OnnxOp, Result


class NonZero(OnnxOp):
    """Positions in the flattened tensor, and from them the index along each axis."""

    name = "NonZero"
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
