"""Inlining: bodies of functions of a module in place of their calls.

Example
-------
>>> rewritten = Inlined(mod, {"gelu": mod["gelu"]}).visit_expr(mod["main"])   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import mutator
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.relax_tools.rewriting import Rewriter


@mutator
class Inlined(Rewriter):
    """Replaces calls of `functions`, given by name, also within their bodies."""

    def __init__(self, mod: tvm.IRModule, functions: Mapping[str, relax.Function]) -> None:
        super().__init__(mod)
        self.functions = functions
        #: Variable of an inlined body -> its value.
        self.values: dict[relax.Var, relax.Expr] = {}

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        name = str(call.op.name_hint) if isinstance(call.op, relax.GlobalVar) else ""
        if name not in self.functions:
            return self.visit_expr_post_order(call)
        arguments = [self.visit_expr(argument) for argument in call.args]
        func = copy_with_new_vars(self.functions[name])
        pairs = dict(zip(func.params, arguments, strict=True))
        body = func.bind_params(pairs).body
        bindings = [binding for block in body.blocks for binding in block.bindings]
        last = _last(bindings, body.body)
        for binding in bindings[:last]:
            self.values[binding.var] = self._emitted(binding)
        # The call's own variable is bound to what is left, and keeps its name.
        return self.visit_expr(body.body if last == len(bindings) else bindings[last].value)

    def _emitted(self, binding: relax.Binding) -> relax.Expr:
        value = self.visit_expr(binding.value)
        if isinstance(binding, relax.MatchCast):
            return self.builder_.match_cast(value, _checking(binding.ty))
        return value if isinstance(value, relax.Var) else self.builder_.emit(value)

    def visit_var_(self, var: relax.Var) -> relax.Expr:
        return self.values[var] if var in self.values else super().visit_var_(var)

    def visit_dataflow_var_(self, var: relax.DataflowVar) -> relax.Expr:
        return self.values[var] if var in self.values else super().visit_dataflow_var_(var)


def _last(bindings: Sequence[relax.Binding], result: relax.Expr) -> int:
    """Index of the binding that computes a result, if only aliases of it follow.

    Else the number of bindings.
    """
    for place in reversed(range(len(bindings))):
        binding = bindings[place]
        if binding.var != result or isinstance(binding, relax.MatchCast):
            break
        if not isinstance(binding.value, relax.Var):
            return place
        result = binding.value
    return len(bindings)


def _checking(ty: relax.TensorType) -> relax.TensorType:
    """Type of a ``match_cast`` that checks dims and defines none.

    TVM would take a lone variable for a definition.
    """
    one = tirx.IntImm("int64", 1)
    dims = [tirx.Mul(d, one) if isinstance(d, tvm.ir.Var) else d for d in ty.shape.values]
    return relax.TensorType(dims, ty.dtype)
