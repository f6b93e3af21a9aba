"""Slice, in attribute form (opset 1) and input form (opset 10 and later)."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result

#: Exporters write "to the end" as the largest integer of one type or another.
_TO_THE_END = 2**31 - 1


class Slice(OnnxOp):
    """``strided_slice`` for forward steps; a backward step is a ``take`` of constant positions."""

    name = "Slice"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        starts, ends, axes, steps = _ranges(inputs, attrs)
        shape = inputs.shape(0)
        data = inputs[0]
        forward: list[tuple[int, Any, Any, int]] = []
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            axis %= len(shape)
            if isinstance(end, int) and end >= _TO_THE_END and step > 0:
                end = shape[axis]
            static = all(isinstance(v, int) for v in (shape[axis], start, end))
            if static and step > 0:
                start, end, _ = slice(start, end, step).indices(shape[axis])
                end = max(start, end)
            elif static:
                positions = np.arange(shape[axis], dtype=np.int64)[
                    slice(start, _stop(end, shape[axis]), step)
                ]
                data = ctx.emit(relax.op.take(data, ctx.const(positions, "int64"), axis))
                continue
            elif step < 0:
                raise ctx.unsupported(
                    f"slices axis {axis}, of symbolic size, backwards", "fix it with --input-shapes"
                )
            if not (static and (start, end, step) == (0, shape[axis], 1)):
                forward.append((axis, start, end, step))
        if not forward:
            return data
        where, begin, stop, stride = (list(column) for column in zip(*forward, strict=True))
        return relax.op.strided_slice(data, where, begin, stop, stride)


def _stop(end: int, size: int) -> int | None:
    """Python's stop of a backward slice: ONNX writes "to the start" as an end below ``-size``."""
    return None if end < -size else end


def _ranges(inputs: Inputs, attrs: Attrs) -> tuple[list[Any], list[Any], list[int], list[int]]:
    if "starts" in attrs:
        starts, ends, axes, steps = attrs["starts"], attrs["ends"], attrs.get("axes"), None
    else:
        starts = inputs.need_ints(1, "starts")
        ends = inputs.need_ints(2, "ends")
        axes = inputs.need_ints(3, "axes") if inputs.has(3) else None
        steps = inputs.need_ints(4, "steps") if inputs.has(4) else None
    return (
        starts,
        ends,
        axes if axes is not None else list(range(len(starts))),
        steps if steps is not None else [1] * len(starts),
    )
