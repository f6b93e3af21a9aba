"""ReduceProd."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._reduction import Reduction


class ReduceProd(Reduction):
    """``prod``."""

    name = "ReduceProd"

    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return relax.op.prod(x, axes, keep) if axes else x
