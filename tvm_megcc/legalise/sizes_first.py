"""SizesFirst: users of a size come after the ``match_cast`` that defines it.

Before: ``z = cls.fused(R.shape([n])); R.match_cast(s, R.Shape([n]))``. After: the other way round.
TVM's FuseOps puts a fused call after its operands, and a size is none of them.
"""

from __future__ import annotations

from heapq import heappop, heappush

import tvm
from tvm import relax, tirx

from tvm_megcc.relax_tools.rewriting import module_pass, with_blocks


@module_pass("tvm_megcc.SizesFirst")
def SizesFirst(mod: tvm.IRModule) -> tvm.IRModule:
    """Sort the bindings of every block by the values and the sizes that they use.

    Bindings stay in their order where nothing else is needed.
    """
    return with_blocks(mod, _sorted)


def _sorted(block: relax.BindingBlock) -> relax.BindingBlock:
    """Sort a block's bindings; return it unchanged if they are in order."""
    bindings = list(block.bindings)
    makers: dict[tvm.ir.Var, int] = {}
    for k, binding in enumerate(bindings):
        for made in (binding.var, *_reads(binding)):
            makers.setdefault(made, k)
    waiting = []
    users: list[list[int]] = [[] for _ in bindings]
    for k, binding in enumerate(bindings):
        needs = {makers[v] for v in _uses(binding) if v in makers} - {k}
        waiting.append(len(needs))
        for maker in needs:
            users[maker].append(k)
    ready = [k for k, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        order.append(first := heappop(ready))
        for user in users[first]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, user)
    assert len(order) == len(bindings), "a size is computed from what needs the size"
    if order == sorted(order):
        return block
    kind = type(block)
    return kind([bindings[k] for k in order])


def _alone(binding: relax.Binding) -> relax.Function:
    """A function of one binding, for TVM's analyses."""
    body = relax.SeqExpr([relax.BindingBlock([binding])], binding.var)
    return relax.Function([], body, binding.var.ty)


def _uses(binding: relax.Binding) -> list[tvm.ir.Var]:
    """Variables of values and sizes that a binding uses."""
    func = _alone(binding)
    return [*relax.analysis.free_vars(func), *relax.analysis.free_symbolic_vars(func)]


def _reads(binding: relax.Binding) -> list[tirx.Var]:
    """Sizes that a ``match_cast`` defines: those that its operand's type lacks."""
    if not isinstance(binding, relax.MatchCast):
        return []
    given = relax.Var("given", binding.value.ty)
    known = set(
        relax.analysis.defined_symbolic_vars(
            relax.Function([given], relax.SeqExpr([], given), given.ty)
        )
    )
    return [v for v in relax.analysis.defined_symbolic_vars(_alone(binding)) if v not in known]
