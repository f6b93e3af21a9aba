"""Gather."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...dims import Size
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import large_enough, rows
from ..common.slices import sliced


class Gather(OnnxOp):
    """A ``strided_slice`` where the known indices step evenly, else ``take``."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = normal_axis(attrs.get("axis", 0), len(shape))
        size, known = shape[axis], inputs.known(1)
        if known is None:
            return rows(ctx, inputs, axis, data=inputs[0])
        if not isinstance(size, int):
            if known.size != 1:
                return rows(ctx, inputs, axis, data=inputs[0])
            data = large_enough(ctx, inputs[0], axis, known)
            return _one(ctx, data, axis, int(known.reshape(-1)[0]), known.shape)
        large_enough(ctx, inputs[0], axis, known)
        indices = np.where(known < 0, known + size, known)
        step = _even_step(indices)
        if step is None:
            return relax.op.take(inputs[0], ctx.const(indices, str(known.dtype)), axis, "clip")
        start, stop = int(indices.reshape(-1)[0]), int(indices.reshape(-1)[-1]) + 1
        part = relax.op.strided_slice(inputs[0], [axis], [start], [stop], [step])
        wanted = [*shape[:axis], *indices.shape, *shape[axis + 1 :]]
        return part if indices.ndim == 1 else ctx.reshape(ctx.emit(part), wanted)


def _one(
    ctx: Context, data: relax.Expr, axis: int, index: int, shape: tuple[int, ...]
) -> relax.Expr:
    """The element of a symbolic axis at a constant index, counted from either end."""
    dims = ctx.shape(data)
    start: Size = index if index >= 0 else dims[axis] + index
    part = sliced(ctx, data, [(axis, start, start + 1, 1)])
    return ctx.reshape(part, [*dims[:axis], *shape, *dims[axis + 1 :]])


def _even_step(indices: np.ndarray) -> int | None:
    flat = indices.reshape(-1).astype(np.int64)
    if not flat.size:
        return None
    steps = np.diff(flat)
    step = int(steps[0]) if steps.size else 1
    return step if step > 0 and np.all(steps == step) else None
