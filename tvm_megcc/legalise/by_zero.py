"""TIR of products and quotients with a constant 0, which stays an operand.

TVM puts a constant of one element into the expression and takes ``0.0 * x`` and ``0.0 / x`` for 0,
which they are not where ``x`` is infinite or no number; dividing by 0 is an internal error.
"""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax, te, topi

from tvm_megcc.legalise.typed import Legaliser
from tvm_megcc.relax_tools.exprs import constant


def _legaliser(op: str, function: Callable[..., te.Tensor]) -> Legaliser:
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
    f"relax.{name}": _legaliser(f"relax.{name}", getattr(topi, name))
    for name in ("divide", "floor_divide", "floor_mod", "mod", "multiply")
}
