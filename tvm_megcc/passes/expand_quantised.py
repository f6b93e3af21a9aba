"""ExpandQuantised: calls of composite operators become the operators of their bodies.

    QLinearAdd(a, scale_a, ...)   ->   the integer arithmetic of its body, in place of the call

A pass that takes such a call for a kernel of its own runs before. Afterwards neither calls nor
their functions are left.
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.relax_tools.composite import operator_of
from tvm_megcc.relax_tools.inlining import Inlined
from tvm_megcc.relax_tools.rewriting import module_pass, rewritten


@module_pass("tvm_megcc.ExpandQuantised")
def ExpandQuantised(mod: tvm.IRModule) -> tvm.IRModule:
    """Replace calls of composite operators by the operators of their bodies."""
    composites = {g: f for g, f in mod.functions_items() if operator_of(f) is not None}
    if not composites:
        return mod
    kept = {g: f for g, f in mod.functions_items() if g not in composites}
    rest = tvm.IRModule(kept, attrs=mod.attrs, global_infos=mod.global_infos)
    bodies = {gvar.name_hint: func for gvar, func in composites.items()}
    return relax.transform.CanonicalizeBindings()(rewritten(rest, Inlined(rest, bodies)))
