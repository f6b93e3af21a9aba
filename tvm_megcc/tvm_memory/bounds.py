"""Sizes in bytes under the upper bounds a function declares for its symbolic dims.

As in TVM, the attribute ``tir_var_upper_bound`` (and ``tir_var_lower_bound``) bounds the dims of
the signature by name; a dim computed from them is bounded by what follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax, tirx

from tvm_megcc.relax_tools.shape_exprs import bounds_of


class Bounds:
    """Bounds that a function declares for its dims."""

    def __init__(self, func: relax.Function) -> None:
        bounds = bounds_of(func)
        self.analyzer = tvm.sym.Analyzer()
        for var in {v for p in func.params for v in relax.analysis.tir_vars_in_type(p.ty)}:
            known = bounds.get(var.name)
            if known is not None and known.high is not None:
                extent = known.high - known.low + 1
                self.analyzer.bind(var, tvm.ir.Range.from_min_extent(known.low, extent))

    def size(self, shape: Sequence[tirx.PrimExpr], dtype: str) -> int | tirx.PrimExpr:
        """Bytes of a tensor: an int where every dim has a value or an upper bound."""
        total: int | tirx.PrimExpr = storage_bytes(dtype)
        for dim in shape:
            total = total * self.dim(dim)
        return total if isinstance(total, int) else self.analyzer.simplify(total)

    def dim(self, dim: tirx.PrimExpr) -> int | tirx.PrimExpr:
        if isinstance(dim, tirx.IntImm):
            return int(dim)
        bound = self.analyzer.const_int_bound(dim)
        return int(bound.max_value) if bound.max_value < bound.POS_INF else dim


def storage_bytes(dtype: str) -> int:
    """Bytes that TVM allocates for an element."""
    kind = tvm.DataType(dtype)
    return int(kind.bits * kind.lanes + 7) // 8
