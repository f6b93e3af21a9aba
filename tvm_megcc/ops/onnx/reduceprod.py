"""ReduceProd."""

from __future__ import annotations

from functools import reduce
from operator import mul

from tvm import relax

from .. import Context
from ..common.arithmetic import reduced
from ..common.reduction import Reduction


class ReduceProd(Reduction):
    """``prod``."""

    name = "ReduceProd"
    on_sizes = staticmethod(reduced(lambda items: reduce(mul, items)))

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return relax.op.prod(x, axes, keep) if axes else x
