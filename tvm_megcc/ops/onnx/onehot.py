"""OneHot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...dims import Dim
from ...shapes.arithmetic import MAX_GENERATED
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result


class OneHot(OnnxOp):
    """A ``where`` over the comparison of the indices with ``0 .. depth - 1``.

    Indices of any type are compared as int64, in which every depth has its place.
    """

    single = {1: "depth"}

    def generated(self, operands: Sequence[Any]) -> int:
        return int(operands[0].size) * int(operands[1].reshape(-1)[0])

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        depth = _depth(ctx, inputs)
        rank = inputs.rank(0) + 1
        axis = normal_axis(attrs.get("axis", -1), rank)
        indices = relax.op.expand_dims(_whole(ctx, inputs[0]), axis)
        below = relax.op.less(indices, ctx.const(0, "int64"))
        whole = ctx.sizes([depth], "int64")
        indices = relax.op.where(below, relax.op.add(indices, whole), indices)
        behind = [1] * (rank - 1 - axis)
        if isinstance(depth, int) and depth <= MAX_GENERATED:
            ramp = ctx.const(np.arange(depth).reshape([-1, *behind]), "int64")
        else:
            numbers = ctx.emit(relax.op.arange(0, ctx.prim(depth), 1, "int64"))
            ramp = ctx.reshape(numbers, [depth, *behind])
        chosen = relax.op.equal(indices, ramp)
        known = inputs.known(2)
        if known is not None:
            off, on = (ctx.const(v, inputs.dtype(2)) for v in known)
        else:
            off, on = (relax.op.strided_slice(inputs[2], [0], [i], [i + 1]) for i in (0, 1))
        return relax.op.where(chosen, on, off)


def _depth(ctx: Context, inputs: Inputs) -> int | Dim:
    """How many classes there are; a number of any type, of which there has to be one."""
    known = inputs.known(1)
    if known is not None:
        depth = int(known.reshape(-1)[0])
        if depth < 1:
            raise ctx.ill_typed(f"its depth is {depth} where it takes at least 1")
        return depth
    sizes = inputs.ints(1)
    return sizes[0] if sizes else inputs.read(_whole(ctx, inputs[1]), 1, 1)[0]


def _whole(ctx: Context, x: relax.Expr) -> relax.Expr:
    return ctx.emit(relax.op.astype(x, "int64"))
