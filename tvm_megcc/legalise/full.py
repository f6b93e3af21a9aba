"""TIR of ``relax.full``, whose value keeps its type.

TVM's own makes a Python number of it, as f32 or ``int64``, and refuses NaN and what these cannot
hold.
"""

from __future__ import annotations

import tvm
from tvm import relax, tirx, topi

from tvm_megcc.relax_tools.exprs import constant

_TVMS = tvm.ir.Op.get("relax.full").get_attr("FLegalize")


def _legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    shape, value = call.args
    known = constant(value)
    if known is None or not isinstance(shape, relax.ShapeExpr):
        return _TVMS(bb, call)
    if known.dtype == "uint64":
        number = tirx.IntImm("uint64", int(known))
    elif known.dtype in ("float32", "float64"):
        number = tirx.FloatImm(known.dtype.name, float(known))
    else:
        return _TVMS(bb, call)
    dtype = str(call.ty.dtype.dtype)
    return bb.call_te(topi.full, shape.values, dtype, number, primfunc_name_hint="full")


#: For `relax.transform.LegalizeOps`.
LEGALISE = {"relax.full": _legalise}
