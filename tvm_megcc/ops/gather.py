"""Gather, negative indices included."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import normal_axis


class Gather(OnnxOp):
    """A ``strided_slice`` where the known indices step evenly, else ``take``.

    ``take`` clips: an index outside the tensor, which ONNX leaves undefined, reads the nearest
    element instead of foreign memory.
    """

    name = "Gather"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        axis = normal_axis(attrs.get("axis", 0), len(shape))
        size, known = shape[axis], inputs.known(1)
        if known is None or not isinstance(size, int):
            return relax.op.take(inputs[0], _from_front(ctx, inputs, size), axis, "clip")
        if known.size and (known.min() < -size or known.max() >= size):
            raise ctx.unsupported(
                f"index outside [-{size}, {size - 1}] on axis {axis}", "correct the model"
            )
        indices = np.where(known < 0, known + size, known)
        step = _even_step(indices)
        if step is None:
            return relax.op.take(inputs[0], ctx.const(indices, str(known.dtype)), axis, "clip")
        start, stop = int(indices.reshape(-1)[0]), int(indices.reshape(-1)[-1]) + 1
        part = relax.op.strided_slice(inputs[0], [axis], [start], [stop], [step])
        wanted = [*shape[:axis], *indices.shape, *shape[axis + 1 :]]
        return part if indices.ndim == 1 else relax.op.reshape(ctx.emit(part), wanted)


def _from_front(ctx: Context, inputs: Inputs, size: int) -> relax.Expr:
    """Run-time indices, counted from the front."""
    indices, dtype = inputs[1], inputs.dtype(1)
    if not isinstance(size, int) or dtype.startswith("uint"):
        return indices
    wrapped = relax.op.add(indices, ctx.const(size, dtype))
    return relax.op.where(relax.op.less(indices, ctx.const(0, dtype)), wrapped, indices)


def _even_step(indices: np.ndarray) -> int | None:
    flat = indices.reshape(-1).astype(np.int64)
    if not flat.size:
        return None
    steps = np.diff(flat)
    step = int(steps[0]) if steps.size else 1
    return step if step > 0 and np.all(steps == step) else None
