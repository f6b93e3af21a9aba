"""ReduceMean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np
from tvm import relax

from .. import Context
from ..common.arithmetic import reduced
from ..common.context import expr_dtype, volume
from ..common.reduction import Reduction
from ..common.sizes import Item, Real, truncdiv


def _mean(items: Sequence[Item]) -> Item:
    total = reduce(add, items)
    return total / Real(len(items)) if isinstance(total, Real) else truncdiv(total, len(items))


class ReduceMean(Reduction):
    """``mean``; of integers the sum divided, cut to an integer."""

    name = "ReduceMean"
    on_sizes = staticmethod(reduced(_mean))

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        if not axes:
            return x
        dtype, shape = expr_dtype(x), ctx.shape(x)
        of = volume([shape[a] for a in axes])
        if of == 0:  # TVM divides by it when it compiles
            none = 0 if "int" in dtype else np.nan
            return relax.op.add(relax.op.sum(x, axes, keep), ctx.const(none, dtype))
        if "int" not in dtype:
            return relax.op.mean(x, axes, keep)
        # TVM's mean of int32 is int64 once it is legalised.
        count = ctx.reshape(ctx.sizes([of], dtype), [])
        return relax.op.divide(relax.op.sum(x, axes, keep), count)
