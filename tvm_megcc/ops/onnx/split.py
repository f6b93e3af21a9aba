"""Split: sizes as attribute or operand (opset 13), ``num_outputs`` (18), or even."""

from __future__ import annotations

from itertools import accumulate

from tvm import relax

from ...dims import Size, ceildiv, is_static
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.slices import sliced, taken


class Split(OnnxOp):
    """``split`` at constant positions, else one ``strided_slice`` per part.

    That the sizes add up to the dim is checked where they are read.
    """

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = normal_axis(attrs.get("axis", 0), len(shape))
        of_data = inputs.is_read(1)
        sizes = inputs.need_ints(1, "its sizes", 0) if inputs.has(1) else attrs.get("split")
        if sizes is None:
            count = len(ctx.outputs)
            if attrs.get("num_outputs", count) != count:
                given = attrs["num_outputs"]
                raise ctx.ill_typed(f"num_outputs is {given}, and it has {count} results")
            sizes = _even(shape[axis], count)
        if not is_static(sizes) or not isinstance(shape[axis], int):
            whole = [*shape[:axis], sum(sizes[1:], sizes[0]), *shape[axis + 1 :]]
            data, ends = ctx.cast(inputs[0], whole), list(accumulate(sizes))
            starts = [0, *ends[:-1]]
            if of_data:
                pieces = zip(starts, sizes, strict=True)
                return tuple(taken(ctx, data, axis, a, n) for a, n in pieces)
            pieces = zip(starts, ends, strict=True)
            return tuple(sliced(ctx, data, [(axis, a, b, 1)]) for a, b in pieces)
        if sum(sizes) != shape[axis]:
            raise ctx.unsupported(
                f"its sizes {list(sizes)} add up to {sum(sizes)}, its axis has {shape[axis]}",
                "export the model again",
            )
        if len(sizes) == 1:
            return inputs[0]
        if 0 in sizes:  # which relax.split does not cut off
            ends = list(accumulate(sizes))
            pieces = zip([0, *ends[:-1]], ends, strict=True)
            return tuple(sliced(ctx, inputs[0], [(axis, a, b, 1)]) for a, b in pieces)
        parts = ctx.emit(relax.op.split(inputs[0], list(accumulate(sizes))[:-1], axis))
        return tuple(relax.TupleGetItem(parts, i) for i in range(len(sizes)))


def _even(size: Size, count: int) -> list[Size]:
    """Equal parts, the last one smaller where they do not fit."""
    part = ceildiv(size, count)
    return [part] * (count - 1) + [size - part * (count - 1)]
