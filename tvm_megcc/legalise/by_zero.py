"""TIR of products and quotients with a constant 0, which stays an operand.

TVM puts a constant of one element into the expression and takes ``0.0 * x`` and ``0.0 / x`` for 0,
which they are not where ``x`` is infinite or no number; dividing by 0 is an internal error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import tvm
from tvm import relax, te, topi

from tvm_megcc.relax_tools.exprs import constant

_Legaliser: TypeAlias = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


def _legaliser(op: str, function: Callable[..., te.Tensor]) -> _Legaliser:
    tvms = tvm.ir.Op.get(op).get_attr("FLegalize")

    def legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        if any(map(_is_zero, call.args)):
            return bb.call_te(function, *call.args)
        return tvms(bb, call)

    return legalise


def _is_zero(expr: relax.Expr) -> bool:
    value = constant(expr)
    return value is not None and bool(value.ndim == 0 and value.dtype.kind in "fiu" and value == 0)


#: For `relax.transform.LegalizeOps`.
LEGALISE = {
    f"relax.{name}": _legaliser(f"relax.{name}", function)
    for name, function in (
        ("divide", topi.divide),
        ("floor_divide", topi.floor_divide),
        ("floor_mod", topi.floor_mod),
        ("mod", topi.mod),
        ("multiply", topi.multiply),
    )
}
