"""TopK."""

from __future__ import annotations

from typing import cast

from tvm import relax

from ...dims import Dim, Size
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result

#: What TVM calls the size of the axis.
_ALL = -1


class TopK(OnnxOp):
    """``topk``; where k is computed at run time, the first k of all elements sorted."""

    single = {1: "k"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = normal_axis(int(attrs.get("axis", -1)), len(shape))
        wanted = attrs["k"] if "k" in attrs else _count(ctx, inputs, shape[axis])
        if isinstance(wanted, int) and wanted == 0:  # TVM's topk gives all elements then
            dims = ctx.prims([*shape[:axis], 0, *shape[axis + 1 :]])
            return tuple(
                relax.op.zeros(relax.ShapeExpr(dims), d) for d in (inputs.dtype(0), "int64")
            )
        # Of a number that is not known all elements are sorted, and the first ones taken.
        size = shape[axis] if isinstance(wanted, Dim) else wanted
        checked = inputs.has(1) and inputs.is_read(1)  # by `_count`
        least = size if checked else wanted
        found = ctx.emit(
            relax.op.topk(
                ctx.at_least(inputs[0], axis, least),
                k=_ALL if isinstance(size, Dim) else size,
                axis=axis,
                ret_type="both",
                largest=bool(attrs.get("largest", 1)),
                dtype="int64",
            )
        )
        both = [relax.TupleGetItem(found, k) for k in range(2)]
        if not isinstance(wanted, Dim):
            return tuple(both)
        dims = [*shape[:axis], wanted, *shape[axis + 1 :]]
        return tuple(self._head(ctx, ctx.emit(b), axis, dims) for b in both)

    def _head(self, ctx: Context, data: relax.Expr, axis: int, dims: list[Size]) -> relax.Expr:
        end = ctx.prim(dims[axis])
        return ctx.emit(relax.op.strided_slice(data, [axis], [0], [end], assume_inbound=True))


def _count(ctx: Context, inputs: Inputs, size: Size) -> Size:
    """k; where it is computed at run time, the run ends when there are fewer elements."""
    if not inputs.is_read(1):
        (count,) = inputs.need_ints(1, "k", 0)
        return cast(Size, count)
    limit = ctx.sizes([size], inputs.dtype(1))
    fits = relax.op.less_equal(inputs[1], limit)
    return inputs.read(ctx.checked(inputs[1], ctx.emit(fits)), 1)[0]
