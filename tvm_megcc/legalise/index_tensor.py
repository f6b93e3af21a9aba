"""TIR of ``relax.index_tensor``, whose indices are the fields of their tuple.

TVM's own binds ``(indices,)[0]``, which FuseOps puts into the function of what computes the
indices; FuseTIR then ends in an internal error.
"""

from __future__ import annotations

import tvm
from tvm import relax, topi

_TVMS = tvm.ir.Op.get("relax.index_tensor").get_attr("FLegalize")


def _legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    data, indices = call.args
    if not isinstance(indices, relax.Tuple):
        return _TVMS(bb, call)
    return bb.call_te(topi.index_tensor, data, list(indices.fields))


#: For `relax.transform.LegalizeOps`.
LEGALISE = {"relax.index_tensor": _legalise}
