"""Reshape, with the shape as attribute (opset 1) or operand (5), ``allowzero`` (14)."""

from __future__ import annotations

from typing import Any

from tvm import relax

from ..dims import Dim, Size
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import product


class Reshape(OnnxOp):
    """``reshape`` to dims that are all spelled out."""

    name = "Reshape"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        wanted = attrs["shape"] if "shape" in attrs else inputs.need_ints(1, "its shape")
        shape = inputs.shape(0)
        dims = _resolve(wanted, shape, bool(attrs.get("allowzero", 0)))
        if 0 in dims:
            # Relax reads a 0 as "keep", and there is nothing to move anyway.
            return relax.op.zeros(ctx.prims(dims), inputs.dtype(0))
        return ctx.reshape(inputs[0], dims)


def _resolve(wanted: list[Any], shape: tuple[Size, ...], allow_zero: bool) -> list[Size]:
    dims = [
        shape[i] if isinstance(d, int) and d == 0 and not allow_zero else d
        for i, d in enumerate(wanted)
    ]
    free = [i for i, d in enumerate(dims) if isinstance(d, int) and d == -1]
    if free:
        others, kept = [d for i, d in enumerate(dims) if i != free[0]], list(shape)
        # A dim that stays, a batch mostly, cancels out.
        for dim in [d for d in others if isinstance(d, Dim) and d in kept]:
            if dim in kept:
                kept.remove(dim)
                others.remove(dim)
        rest, total = product(others), product(kept)
        dims[free[0]] = total // rest if rest != 0 else 0
    return dims
