"""ReduceMean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from tvm import relax

from . import Context
from ._arithmetic import reduced
from ._reduction import Reduction
from ._sizes import Item, Real, truncdiv


def _mean(items: Sequence[Item]) -> Item:
    total = reduce(add, items)
    return total / Real(len(items)) if isinstance(total, Real) else truncdiv(total, len(items))


class ReduceMean(Reduction):
    """``mean``."""

    name = "ReduceMean"
    on_sizes = staticmethod(reduced(_mean))

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return relax.op.mean(x, axes, keep) if axes else x
