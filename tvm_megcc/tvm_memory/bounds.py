"""Sizes in bytes under the upper bounds a function declares for its symbolic dims.

As in TVM, the attribute ``tir_var_upper_bound`` (and ``tir_var_lower_bound``) bounds the dims of
the signature by name; a dim computed from them is bounded by what follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax, tirx


class Bounds:
    """The bounds that `func` declares."""

    def __init__(self, func: relax.Function) -> None:
        attrs = func.attrs or {}
        upper = dict(attrs["tir_var_upper_bound"]) if "tir_var_upper_bound" in attrs else {}
        lower = dict(attrs["tir_var_lower_bound"]) if "tir_var_lower_bound" in attrs else {}
        self.analyzer = tvm.sym.Analyzer()
        self.bounded = False
        for var in _signature_variables(func):
            if var.name in upper:
                low, high = int(lower.get(var.name, 0)), int(upper[var.name])
                self.analyzer.bind(var, tvm.ir.Range.from_min_extent(low, high - low + 1))
                self.bounded = True

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
    """Bytes that TVM sets aside for an element."""
    kind = tvm.DataType(dtype)
    return int(kind.bits * kind.lanes + 7) // 8


def _signature_variables(func: relax.Function) -> list[tirx.Var]:
    found: dict[tirx.Var, None] = {}
    for param in func.params:
        for var in relax.analysis.tir_vars_in_type(param.ty):
            found[var] = None
    return list(found)
