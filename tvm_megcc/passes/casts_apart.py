"""CastsApart: a value that a ``match_cast`` reads is seen by FuseOps to be read.

Before: ``x = R.add(...); R.match_cast(x, ...); R.power(z, x)``. After: ``x = R.add(...); y =
R.memory.ensure_zero_offset(x); R.match_cast(y, ...); R.power(z, x)``. TVM's FuseOps (0.27) does not
look at what a ``match_cast`` reads: it takes ``x`` for one that a single other call reads and fuses
it with that, so that nothing computes what is cast (or, for a field of a tuple, has the function
return its own parameter).
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.control_flow import plain_functions


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.CastsApart")
class CastsApart:
    """Put a call that costs nothing between a value and the ``match_cast`` of it."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        changed = {}
        for gvar, func in plain_functions(mod):
            given = list(func.body.blocks)
            blocks = [_apart(block) for block in given]
            if any(new is not old for new, old in zip(blocks, given, strict=True)):
                body = relax.SeqExpr(blocks, func.body.body)
                changed[gvar] = relax.Function(
                    func.params, body, func.ret_ty, func.is_pure, func.attrs
                )
        if not changed:
            return mod
        mod = mod.clone()
        for gvar, func in changed.items():
            mod.update_func(gvar, func)
        return mod


def _apart(block: relax.BindingBlock) -> relax.BindingBlock:
    computed: set[relax.Var] = set()
    others: set[relax.Var] = set()  # what something else than a cast reads
    fields: set[relax.Var] = set()
    for binding in block.bindings:
        if isinstance(binding, relax.VarBinding):
            computed.add(binding.var)
            others.update(_variables(binding.value))
            if isinstance(binding.value, relax.TupleGetItem):
                fields.add(binding.var)
    bindings: list[relax.Binding] = []
    for binding in block.bindings:
        value = binding.value
        if isinstance(binding, relax.MatchCast) and (value in fields or value in computed & others):
            if isinstance(value.ty, relax.TensorType):
                seen = relax.DataflowVar("seen", value.ty)
                call = relax.op.memory.ensure_zero_offset(value)
                bindings.append(relax.VarBinding(seen, relax.BlockBuilder().normalize(call)))
                binding = relax.MatchCast(binding.var, seen, binding.ty)
        bindings.append(binding)
    return block if len(bindings) == len(block.bindings) else type(block)(bindings)


def _variables(expr: relax.Expr) -> list[relax.Var]:
    found: list[relax.Var] = []
    relax.analysis.post_order_visit(
        expr, lambda e: found.append(e) if isinstance(e, relax.Var) else None
    )
    return found
