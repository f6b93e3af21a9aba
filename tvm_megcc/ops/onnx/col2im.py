"""Col2Im (opset 18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tirx

from ...dims import Size, maximum, product
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Col2Im(OnnxOp):
    """Every element of the image is the sum of the columns' elements that stand for it."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if inputs.dtype(0) == "bool":
            raise ctx.unsupported("sums of bools", "cast its columns to a number")
        image = inputs.need_ints(1, "its image shape", 0)
        block = inputs.need_ints(2, "its block shape", 1)
        rank = len(image)
        if len(block) != rank or inputs.rank(0) != 3:
            raise ctx.ill_typed(f"a block of {len(block)} dims for an image of {rank}")
        if 0 in block:
            raise ctx.ill_typed("a block of no elements")
        dilations, strides = (attrs.get(k, [1] * rank) for k in ("dilations", "strides"))
        pads = attrs.get("pads", [0] * 2 * rank)
        steps: list[Size] = []
        for i in range(rank):
            room = image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1
            steps.append(maximum(room // strides[i] + 1, 0))
        batch, rows, _ = inputs.shape(0)
        channels = rows // product(block)
        data = ctx.cast(inputs[0], [batch, channels * product(block), product(steps)])
        sizes, counts = ctx.prims(block), ctx.prims(steps)
        shape = ctx.prims([batch, channels, *image])

        def gather(columns: te.Tensor) -> te.Tensor:
            taps = [te.reduce_axis((0, size), name=f"k{i}") for i, size in enumerate(sizes)]

            def element(*at: Any) -> Any:
                offsets = [at[2 + i] + pads[i] - taps[i] * dilations[i] for i in range(rank)]
                steps = [tirx.floordiv(offsets[i], strides[i]) for i in range(rank)]
                there = [tirx.floormod(offsets[i], strides[i]) == 0 for i in range(rank)]
                there += [tirx.all(s >= 0, s < n) for s, n in zip(steps, counts, strict=True)]
                row, column = _flat([at[1], *taps], [0, *sizes]), _flat(steps, counts)
                zero = tirx.const(0, columns.dtype)
                value = tirx.if_then_else(tirx.all(*there), columns[at[0], row, column], zero)
                return te.sum(value, axis=taps)

            return te.compute(shape, element, name="col2im")

        return ctx.builder.emit_te(gather, data)


def _flat(places: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """The number of a place; the first size does not matter."""
    number = places[0]
    for place, size in zip(places[1:], sizes[1:], strict=True):
        number = number * size + place
    return number
