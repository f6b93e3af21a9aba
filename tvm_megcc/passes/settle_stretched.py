"""SettleStretched: broadcast dims that are known, in a function for some sizes only.

    z = stretched_size(1, 4);  y = stretched(x: [1, 3]) to [z, 3]
    ->  y = broadcast_to(x, [4, 3])

ImplicitBroadcast then drops an expansion that the operator does itself.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from tvm_megcc.dims import stretch
from tvm_megcc.relax_tools.control_flow import called_by
from tvm_megcc.relax_tools.exprs import expressions
from tvm_megcc.relax_tools.rewriting import Rewriter, module_pass, rewritten
from tvm_megcc.relax_tools.shape_exprs import size_of, sizes_of
from tvm_megcc.relax_tools.stretching import copied, parts_of


@module_pass("tvm_megcc.SettleStretched")
def SettleStretched(mod: tvm.IRModule) -> tvm.IRModule:
    """Replace broadcast dims that are known by numbers, and copies to them by broadcast_to."""
    functions = [func for func in mod.functions.values() if isinstance(func, relax.Function)]
    if not any(copied(mod, expr) is not None for func in functions for expr in expressions(func)):
        return mod
    mod = rewritten(mod, _Sizes(mod))
    return rewritten(relax.transform.CanonicalizeBindings()(mod), _Copies(mod))


@mutator
class _Sizes(Rewriter):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        # A function that is called knows the size by its name.
        functions = [g.name_hint for g, f in mod.functions_items() if isinstance(f, relax.Function)]
        self.is_named = any(called_by(mod, [name]) for name in functions)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        parts = parts_of(call)
        if parts is None or self.is_named:
            return self.visit_expr_post_order(call)
        a, b = (size_of(part, self.symbols) for part in parts)
        assert a is not None and b is not None
        known = stretch(a, b)
        # TVM would take another dim in place of this one for one that a match_cast defines.
        return relax.ShapeExpr([known]) if isinstance(known, int) else call


@mutator
class _Copies(Rewriter):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self.mod = mod

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        source = copied(self.mod, call)
        if source is None:
            return self.visit_expr_post_order(call)
        value = self.visit_expr(source)
        have, want = (sizes_of(v.ty.shape, self.symbols) for v in (value, call))
        assert have is not None and want is not None
        if have == want:
            return value
        if all(a in (1, b) for a, b in zip(have, want, strict=True)):
            return relax.op.broadcast_to(value, call.ty.shape)
        return self.visit_expr_post_order(call)
