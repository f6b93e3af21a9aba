"""TIR of ``relax.nn.softplus``: ``max(x, 0) + log(1 + exp(-|x|))``, which cannot overflow.

TVM's own computes ``log(1 + exp(x))`` up to a threshold, and loses small results.
"""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx


def _legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    beta = float(call.attrs.beta)
    return bb.call_te(_softplus, call.args[0], beta, primfunc_name_hint="softplus")


def _softplus(x: te.Tensor, beta: float) -> te.Tensor:
    dtype = str(x.dtype)
    zero, factor = tirx.const(0, dtype), tirx.const(beta, dtype)

    def element(*at: Any) -> Any:
        scaled = x[at] if beta == 1.0 else x[at] * factor
        tail = tirx.log1p(tirx.exp(zero - tirx.abs(scaled)))
        total = tirx.Max(scaled, zero) + tail
        return total if beta == 1.0 else total / factor

    return te.compute(x.shape, element, name="softplus")


#: For `relax.transform.LegalizeOps`.
LEGALISE = {"relax.nn.softplus": _legalise}
