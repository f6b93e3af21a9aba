"""OwnScans: TIR of ``relax.cumsum`` and ``relax.cumprod``, before TVM makes it.

TVM's `DispatchSortScan` uses a kernel that writes the first element of an empty axis.
"""

from __future__ import annotations

import operator

from tvm import relax, te, topi

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.rewriting import Rewriter, on, rewriting_pass
from tvm_megcc.relax_tools.scans import around, scanned

_SCANS = {"relax.cumsum": (operator.add, 0), "relax.cumprod": (operator.mul, 1)}


@rewriting_pass("tvm_megcc.OwnScans")
class OwnScans(Rewriter):
    """Replace scans by TIR functions that write nothing along an empty axis."""

    @on(*_SCANS)
    def _scan(self, call: relax.Call) -> relax.Expr:
        name = op_name(call)
        combine, neutral = _SCANS[name]
        attrs, hint = call.attrs, name.removeprefix("relax.")

        def scan(x: te.Tensor) -> te.Tensor:
            if attrs.axis is None:
                x = topi.reshape(x, [topi.utils.prod(x.shape)])
            axis = int(attrs.axis or 0) % len(x.shape)
            return scanned(
                x, around(x.shape, axis), combine, neutral,
                dtype=str(call.ty.dtype.dtype), exclusive=bool(attrs.exclusive), name=hint,
            )  # fmt: skip

        return self.builder_.call_te(scan, call.args[0], primfunc_name_hint=hint)
