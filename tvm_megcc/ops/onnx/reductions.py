"""Reductions: a function of an operand, the axes and whether they are kept.

``on_sizes`` computes a reduction of sizes (`shapes.arithmetic`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import add, mul

import numpy as np
from tvm import relax

from ...dims import product
from ...shapes.arithmetic import maximum, minimum, reduced
from ...shapes.sizes import Item, Real, truncdiv
from .. import Context
from ..common.context import expr_dtype
from ..common.reduction import Reduction, extreme, through_double, total
from ..common.rows import row


def _l1(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return total(relax.op.abs(x), axes, keep)


def _sum_square(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return total(relax.op.multiply(x, x), axes, keep)


def _l2(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    def norm(y: relax.Expr) -> relax.Expr:
        return relax.op.sqrt(_sum_square(ctx, y, axes, keep))

    return through_double(ctx, x, norm)


def _log_sum(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return through_double(ctx, x, lambda y: relax.op.log(total(y, axes, keep)))


def _log_sum_exp(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    def stable(y: relax.Expr) -> relax.Expr:
        peak = ctx.emit(relax.op.max(y, axes, True))
        # An infinite peak is none to subtract: infinity less infinity is no number.
        zero = ctx.const(0, expr_dtype(y))
        peak = ctx.emit(relax.op.where(relax.op.isfinite(peak), peak, zero))
        summed = relax.op.sum(relax.op.exp(relax.op.subtract(y, peak)), axes, keep)
        offset = peak if keep else relax.op.squeeze(peak, axes)
        return relax.op.add(relax.op.log(summed), offset)

    return through_double(ctx, x, stable) if axes else x


def _mean(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    if not axes:
        return x
    dtype, shape = expr_dtype(x), ctx.shape(x)
    of = product([shape[a] for a in axes])
    if of == 0:  # TVM divides by it when it compiles
        none = 0 if "int" in dtype else np.nan
        return relax.op.add(relax.op.sum(x, axes, keep), ctx.const(none, dtype))
    if "int" not in dtype:
        return relax.op.mean(x, axes, keep)
    # TVM's mean of int32 is int64 once it is legalised.
    count = ctx.reshape(ctx.sizes([of], dtype), [])
    return relax.op.divide(relax.op.sum(x, axes, keep), count)


def _mean_of_sizes(items: Sequence[Item]) -> Item:
    whole = reduce(add, items)
    return whole / Real(len(items)) if isinstance(whole, Real) else truncdiv(whole, len(items))


def _prod(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return relax.op.prod(x, axes, keep) if axes else x


def _sum(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return total(x, axes, keep)


def _max(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return extreme(x, axes, keep, largest=True)


def _min(ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    return extreme(x, axes, keep, largest=False)


# fmt: off
OPERATORS = [
    row("ReduceL1", "``sum(|x|)``", Reduction, reduce=_l1),
    row("ReduceL2", "``sqrt(sum(x * x))``; of integers in f64", Reduction, reduce=_l2),
    row("ReduceLogSum", "``log(sum(x))``; of integers in f64", Reduction, reduce=_log_sum),
    row("ReduceLogSumExp", "``log(sum(exp(x - max))) + max``, which does not overflow",
        Reduction, reduce=_log_sum_exp),
    row("ReduceMax", "``max``; of booleans their ``or``", Reduction, reduce=_max,
        on_sizes=reduced(partial(reduce, maximum))),
    row("ReduceMean", "``mean``; of integers the sum divided, cut to an integer", Reduction,
        reduce=_mean, on_sizes=reduced(_mean_of_sizes)),
    row("ReduceMin", "``min``; of booleans their ``and``", Reduction, reduce=_min,
        on_sizes=reduced(partial(reduce, minimum))),
    row("ReduceProd", "``prod``", Reduction, reduce=_prod, on_sizes=reduced(partial(reduce, mul))),
    row("ReduceSum", "``sum``", Reduction, reduce=_sum, on_sizes=reduced(partial(reduce, add))),
    row("ReduceSumSquare", "``sum(x * x)``", Reduction, reduce=_sum_square),
]
# fmt: on
