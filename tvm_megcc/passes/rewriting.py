"""The loop that the passes share: every function that computes, through a mutator."""

from __future__ import annotations

import tvm
from tvm.relax.expr_functor import PyExprMutator

from tvm_megcc.control_flow import plain_functions
from tvm_megcc.shape_exprs import symbols_of, variables_of


def rewritten(mod: tvm.IRModule, rewriter: PyExprMutator) -> tvm.IRModule:
    """`mod` with every function that computes as `rewriter`, made for `mod`, leaves it.

    Meanwhile the rewriter has the function's symbolic dims by name in ``variables``, and dims have
    the bounds that the function says.
    """
    for gvar, func in plain_functions(mod):
        rewriter.variables = variables_of(func)
        with symbols_of(func):
            rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.builder_.get()
