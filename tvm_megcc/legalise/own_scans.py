"""OwnScans: how ``relax.cumsum`` and ``relax.cumprod`` become TIR here, before TVM does it.

TVM's `DispatchSortScan` takes a kernel that writes the first element of an empty axis.
"""

from __future__ import annotations

import operator

import tvm
from tvm import relax, te, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.rewriting import rewritten
from tvm_megcc.relax_tools.scans import around, scanned

_SCANS = {"relax.cumsum": (operator.add, 0), "relax.cumprod": (operator.mul, 1)}


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.OwnScans")
class OwnScans:
    """Scans as TIR functions that touch nothing where there is nothing."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return rewritten(mod, _Scans(mod))


@mutator
class _Scans(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        name = op_name(call)
        if name not in _SCANS:
            return call
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
