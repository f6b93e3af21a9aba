"""ReadSizes: ``tensor_to_shape`` becomes the call by which TVM's VM reads sizes from a tensor.

Before: ``s = R.tensor_to_shape(c)``. After: ``s = R.call_pure_packed("vm.builtin.tensor_to_shape",
c, ty_args=R.Shape(ndim=k))``. TVM's own decomposition does the same and gives every size the name
``x``; the model's names are worth more, and names are how we tell sizes apart.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.rewriting import rewritten
from tvm_megcc.relax_tools.size_reads import read_sizes


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ReadSizes")
class ReadSizes:
    """Rewrite every ``relax.tensor_to_shape``."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return rewritten(mod, _Rewriter(mod))


@mutator
class _Rewriter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        if op_name(call) == "relax.tensor_to_shape":
            return read_sizes(call.args[0], call.ty)
        return call
