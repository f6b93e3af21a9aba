"""Unique (opset 11): of all elements, or of the slices along an axis."""

from __future__ import annotations

from tvm import relax

from ...dims import product
from ...shapes.axes import normal_axis
from ...shapes.read_from_data import sizes_from
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.unique import groups


class Unique(OnnxOp):
    """Groups of equal rows (`common.unique`), their number, and a ``take`` of their first rows.

    NaN is treated as ONNX's reference (numpy) does: it sorts last; without an axis all NaN are one
    element, with one a slice that has a NaN equals no other.
    """

    name = "Unique"
    data_dependent = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, axis = inputs[0], attrs.get("axis")
        shape = inputs.shape(0)
        if axis is None:
            axis, shape = 0, (product(shape),)
            data = ctx.reshape(data, shape)
        axis = normal_axis(int(axis), len(shape))
        others = [k for k in range(len(shape)) if k != axis]
        rows = data
        if axis:
            rows = ctx.emit(relax.op.permute_dims(rows, [axis, *others]))
        rows = ctx.reshape(rows, [shape[axis], product([shape[k] for k in others])])
        if inputs.dtype(0) == "bool":
            rows = ctx.emit(relax.op.astype(rows, "uint8"))
        # A vector has no slices: numpy takes its elements, whatever the axis says.
        vector = "axis" not in attrs or len(inputs.shape(0)) == 1
        found = ctx.builder.emit_te(groups, rows, bool(attrs.get("sorted", 1)), nan_is_nan=vector)
        first, inverse, counts, number = (ctx.emit(relax.TupleGetItem(found, k)) for k in range(4))
        (size,) = sizes_from(ctx, number, ["count"], [shape[axis]])
        first, counts = (
            ctx.emit(relax.op.strided_slice(v, [0], [0], [ctx.prim(size)], assume_inbound=True))
            for v in (first, counts)
        )
        return relax.op.take(data, first, axis=axis), first, inverse, counts
