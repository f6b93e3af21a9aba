"""ExpandQuantised: calls of composite operators become the operators of their bodies.

    QLinearAdd(a, scale_a, ...)   ->   the integer arithmetic of its body, in place of the call

What takes such a call for a kernel of its own stands before this pass; after it no call is left,
and the functions are gone.
"""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.passes.rewriting import rewritten
from tvm_megcc.relax_tools.composite import is_call, operator_of


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ExpandQuantised")
class ExpandQuantised:
    """See the module's docstring."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        composites = {g: f for g, f in mod.functions_items() if operator_of(f) is not None}
        if not composites:
            return mod
        # Those that are expanded are no longer there to be expanded in.
        kept = {g: f for g, f in mod.functions_items() if g not in composites}
        rest = tvm.IRModule(kept, attrs=mod.attrs, global_infos=mod.global_infos)
        return relax.transform.CanonicalizeBindings()(rewritten(rest, _Expander(rest, mod)))


@mutator
class _Expander(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, whole: tvm.IRModule) -> None:
        super().__init__(mod)
        self.whole = whole
        #: What variables of an expanded body have become.
        self.values: dict[relax.Var, relax.Expr] = {}

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if not is_call(self.whole, call):
            return self.visit_expr_post_order(call)
        arguments = [self.visit_expr(argument) for argument in call.args]
        func = copy_with_new_vars(self.whole[call.op.name_hint])
        pairs = dict(zip(func.params, arguments, strict=True))
        body = func.bind_params(pairs).body
        for block in body.blocks:
            for binding in block.bindings:
                self.values[binding.var] = self._emitted(binding)
        return self.visit_expr(body.body)

    def _emitted(self, binding: relax.Binding) -> relax.Expr:
        value = self.visit_expr(binding.value)
        if isinstance(binding, relax.MatchCast):
            return self.builder_.match_cast(value, _checking(binding.ty))
        return value if isinstance(value, relax.Var) else self.builder_.emit(value)

    def visit_var_(self, var: relax.Var) -> relax.Expr:
        return self.values[var] if var in self.values else super().visit_var_(var)

    def visit_dataflow_var_(self, var: relax.DataflowVar) -> relax.Expr:
        return self.values[var] if var in self.values else super().visit_dataflow_var_(var)


def _checking(ty: relax.TensorType) -> relax.TensorType:
    """The type of a ``match_cast`` that checks dims and defines none: a body has those around it.

    A variable that stands alone would be taken for one that is defined here.
    """
    one = tirx.IntImm("int64", 1)
    dims = [tirx.Mul(d, one) if isinstance(d, tvm.ir.Var) else d for d in ty.shape.values]
    return relax.TensorType(dims, ty.dtype)
