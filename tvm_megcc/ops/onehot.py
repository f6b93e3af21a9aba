"""OneHot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class OneHot(OnnxOp):
    """A ``where`` over the comparison of the indices with ``0 .. depth - 1``."""

    name = "OneHot"

    def generated(self, operands: Sequence[Any]) -> int:
        return operands[0].size * int(operands[1].reshape(-1)[0])

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        (depth,) = inputs.need_ints(1, "its depth", 1)
        rank = inputs.rank(0) + 1
        axis = attrs.get("axis", -1) % rank
        dtype = inputs.dtype(0)
        indices = relax.op.expand_dims(inputs[0], axis)
        if not dtype.startswith("uint"):
            below = relax.op.less(indices, ctx.const(0, dtype))
            whole = ctx.sizes([depth], dtype)
            indices = relax.op.where(below, relax.op.add(indices, whole), indices)
        behind = [1] * (rank - 1 - axis)
        if isinstance(depth, int):
            ramp = ctx.const(np.arange(depth).reshape([-1, *behind]), dtype)
        else:
            numbers = ctx.emit(relax.op.arange(0, ctx.prim(depth), 1, dtype))
            ramp = ctx.reshape(numbers, [depth, *behind])
        chosen = relax.op.equal(indices, ramp)
        known = inputs.known(2)
        if known is not None:
            off, on = (ctx.const(v, inputs.dtype(2)) for v in known)
        else:
            off, on = (relax.op.strided_slice(inputs[2], [0], [i], [i + 1]) for i in (0, 1))
        return relax.op.where(chosen, on, off)
