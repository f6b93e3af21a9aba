"""CastsApart: FuseOps sees that a ``match_cast`` reads a value.

Before: ``x = R.add(...); R.match_cast(x, ...); R.power(z, x)``. After: ``x = R.add(...); y =
R.memory.ensure_zero_offset(x); R.match_cast(y, ...); R.power(z, x)``. TVM's FuseOps (0.27) does not
look at what a ``match_cast`` reads: it takes ``x`` for one that a single other call reads and fuses
it with that, so that nothing computes what is cast (or, for a field of a tuple, has the function
return its own parameter). Nor does it see what a call reads that stands in a ``match_cast``, as
that of an If: such a call gets a variable of its own.
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.fuse.graph import variables
from tvm_megcc.relax_tools.rewriting import module_pass, with_blocks


@module_pass("tvm_megcc.CastsApart")
def CastsApart(mod: tvm.IRModule) -> tvm.IRModule:
    """Let every ``match_cast`` read a variable of its own, made by a call that costs nothing."""
    return with_blocks(mod, _apart)


def _apart(block: relax.BindingBlock) -> relax.BindingBlock:
    fields: set[relax.Var] = set()
    computed: set[relax.Var] = set()
    read: set[relax.Var] = set()  # other than by casts
    for binding in block.bindings:
        if isinstance(binding, relax.VarBinding):
            computed.add(binding.var)
            read.update(variables(binding.value))
            if isinstance(binding.value, relax.TupleGetItem):
                fields.add(binding.var)
    hidden = fields | computed & read
    bindings: list[relax.Binding] = []
    for binding in block.bindings:
        if isinstance(binding, relax.MatchCast) and isinstance(binding.value, relax.Call):
            made = relax.DataflowVar("made", binding.value.ty)
            bindings.append(relax.VarBinding(made, binding.value))
            binding = relax.MatchCast(binding.var, made, binding.ty)
        value = binding.value
        is_cast = isinstance(binding, relax.MatchCast) and value in hidden
        if is_cast and isinstance(value.ty, relax.TensorType):
            seen = relax.DataflowVar("seen", value.ty)
            call = relax.op.memory.ensure_zero_offset(value)
            bindings.append(relax.VarBinding(seen, relax.BlockBuilder().normalize(call)))
            binding = relax.MatchCast(binding.var, seen, binding.ty)
        bindings.append(binding)
    return block if len(bindings) == len(block.bindings) else type(block)(bindings)
