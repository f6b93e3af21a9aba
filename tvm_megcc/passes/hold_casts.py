"""HoldCasts: finite numbers stay finite where HalfPrecision has made a module f16.

Before: ``astype(x, "float16")``. After, in a module that HalfPrecision has marked:

    astype(where(isinf(x), x, clip(x, -65504, 65504)), "float16")

It runs just before kernels are chosen, one of which does all of it, so that no other pass has to
know the form. In a module that had f16 itself a conversion overflows, as ONNX has it.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import dtype_of
from tvm_megcc.relax_tools.rewriting import rewritten


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.HoldCasts")
class HoldCasts:
    """See the module's docstring."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        if not mod.attrs or half.HELD not in mod.attrs:
            return mod
        return rewritten(mod, _Rewriter(mod))


@mutator
class _Rewriter(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        narrows = op_name(call) == "relax.astype" and str(call.attrs.dtype) == half.HALF
        if not narrows or dtype_of(call.args[0]) != "f32":
            return call
        return relax.op.astype(half.held(self.builder_, call.args[0]), half.HALF)
