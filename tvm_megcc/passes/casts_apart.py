"""CastsApart: a field of a tuple that a ``match_cast`` reads is seen by FuseOps to be read.

Before: ``x = t[0]; R.match_cast(x, ...)``. After: ``x = t[0]; y = R.memory.ensure_zero_offset(x);
R.match_cast(y, ...)``. TVM's FuseOps (0.27) does not look at what a ``match_cast`` reads: it takes
``x`` for one that a single other call reads, fuses it with that, and has the function return its
own parameter.
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.control_flow import plain_functions


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.CastsApart")
class CastsApart:
    """Put a call that costs nothing between a tuple's field and the ``match_cast`` of it."""

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
    fields = {
        b.var
        for b in block.bindings
        if isinstance(b, relax.VarBinding) and isinstance(b.value, relax.TupleGetItem)
    }
    bindings: list[relax.Binding] = []
    for binding in block.bindings:
        if isinstance(binding, relax.MatchCast) and binding.value in fields:
            seen = relax.DataflowVar("seen", binding.value.ty)
            call = relax.op.memory.ensure_zero_offset(binding.value)
            bindings.append(relax.VarBinding(seen, relax.BlockBuilder().normalize(call)))
            binding = relax.MatchCast(binding.var, seen, binding.ty)
        bindings.append(binding)
    return block if len(bindings) == len(block.bindings) else type(block)(bindings)
