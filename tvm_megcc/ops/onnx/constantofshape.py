"""ConstantOfShape, for shapes that constant folding left (large or symbolic)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.stored import held, storage


class ConstantOfShape(OnnxOp):
    """``full``."""

    def generated(self, operands: Sequence[Any]) -> int:
        return prod(int(d) for d in operands[0])

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = attrs.get("value", np.zeros(1, np.float32))
        row, value = storage(str(value.dtype)), held(value).reshape(-1)[0]
        dtype = str(value.dtype)
        shape = ctx.prims(inputs.need_ints(0, "its shape", 0))
        result = relax.op.full(shape, ctx.const(value, dtype), dtype)
        return result if row is None else ctx.stored_as(result, row.numpy)
