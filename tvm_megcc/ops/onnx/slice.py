"""Slice, in attribute form (opset 1) and input form (opset 10 and later)."""

from __future__ import annotations

from typing import Any

from ...dims import Size, bounds, ceildiv, compare, is_static, maximum, minimum, select
from ...shapes.axes import normal_axes
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.slice_data import sliced_by_data
from ..common.slices import backwards, sliced

#: Exporters write "to the end" as the largest integer of one type or another.
_TO_THE_END = 2**31 - 1


class Slice(OnnxOp):
    """``strided_slice`` for forward steps; a backward step is a ``take`` of constant positions.

    What is computed at run time makes a gather (`common.slice_data`).
    """

    moves = (0,)

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [["axes"] if k and shape else [] for k, shape in enumerate(shapes)]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if "starts" not in attrs and not _is_known(inputs):
            return sliced_by_data(ctx, inputs)
        starts, ends, axes, steps = _ranges(inputs, attrs)
        shape = inputs.shape(0)
        data = inputs[0]
        forward: list[tuple[int, Size, Size, int]] = []
        axes = normal_axes(axes, len(shape))
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            size = shape[axis]
            if step == 0:
                raise ctx.ill_typed(f"its step along axis {axis} is 0")
            # No dim is longer, and sizes do not count further.
            only_first = abs(step) >= _TO_THE_END
            if only_first:
                step = 1 if step > 0 else -1
            if step < 0:
                first = maximum(minimum(_from_front(start, size), size - 1), 0)
                last = minimum(maximum(_from_front(end, size), -1), size - 1)
                span = minimum(maximum(first - last, 0), size)
                count = minimum(span, 1) if only_first else ceildiv(span, -step)
                data = backwards(ctx, data, axis, first, step, count)
                continue
            last = minimum(_from_front(end, size, 0), size)
            first = _from_front(start, size, 0)
            if isinstance(start, int) and start < 0 and last == size:
                count = minimum(-start, size)
            else:  # a tensor's dim is not negative, whatever its bounds say
                count = last if first == 0 else maximum(last - first, 0)
            # Where nothing is left, any start will do.
            first = last - count
            if only_first:
                last = first + minimum(count, 1)
            if (first, last, step) != (0, size, 1):
                forward.append((axis, first, last, step))
        return sliced(ctx, data, forward)


def _is_known(inputs: Inputs) -> bool:
    """Whether starts and ends are numbers and sizes, axes and steps numbers."""
    lists = [inputs.ints(k) for k in range(1, 5) if inputs.has(k)]
    return all(v is not None for v in lists) and all(is_static(v or ()) for v in lists[2:])


def _from_front(position: Size, size: Size, least: int | None = None) -> Size:
    """A start or end counted from the front, at least ``least``."""
    if isinstance(position, int) and position >= _TO_THE_END:
        return size
    if isinstance(position, int) and position <= -_TO_THE_END:
        return -1 if least is None else least
    if bounds(position)[0] < 0:
        negative = compare("lt", position, 0)
        position = select(negative, position + size, position)
    return position if least is None else maximum(position, least)


def _ranges(inputs: Inputs, attrs: Attrs) -> tuple[list[Any], list[Any], list[int], list[int]]:
    if "starts" in attrs:
        starts, ends, axes, steps = attrs["starts"], attrs["ends"], attrs.get("axes"), None
    else:
        starts, ends = inputs.ints(1) or [], inputs.ints(2) or []
        axes, steps = inputs.ints(3), inputs.ints(4)
    return (
        starts,
        ends,
        axes if axes is not None else list(range(len(starts))),
        steps if steps is not None else [1] * len(starts),
    )
