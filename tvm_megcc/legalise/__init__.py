"""LegaliseRest: operators that no hand-written kernel took become fused TIR functions.

TVM's own legalisation and fusion, except that operators which only rename memory stay as they are
for `ForwardMemory`.
"""

from __future__ import annotations

import tvm
from tvm import relax, tirx

from tvm_megcc.legalise import (
    arg_extreme,
    by_zero,
    extreme,
    full,
    index_tensor,
    quantise,
    softplus,
)
from tvm_megcc.legalise.casts_apart import CastsApart
from tvm_megcc.legalise.fuse_named import FuseNamed, set_apart
from tvm_megcc.legalise.own_scans import OwnScans
from tvm_megcc.legalise.sizes_first import SizesFirst
from tvm_megcc.legalise.typed import typed
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.shape_exprs import variables_of

#: Left as Relax operators: `ForwardMemory` has turned every free one into a view.
KEPT = ["relax.memory.view", "relax.memory.ensure_zero_offset"]

#: Operators that become TIR of our own.
OWN = {
    **arg_extreme.LEGALISE,
    **by_zero.LEGALISE,
    **extreme.LEGALISE,
    **full.LEGALISE,
    **index_tensor.LEGALISE,
    **quantise.LEGALISE,
    **softplus.LEGALISE,
}


@module_pass("tvm_megcc.LegaliseRest")
def LegaliseRest(mod: tvm.IRModule) -> tvm.IRModule:
    """Legalise and fuse operators as TVM does, with our own legalisers before its."""
    attrs = mod.attrs
    with tvm.target.Target("llvm"):
        mod = tvm.transform.Sequential(
            [
                OwnScans(),
                relax.backend.DispatchSortScan(),
                relax.transform.LegalizeOps(typed(OWN), skip_ops=KEPT),
                relax.transform.AnnotateTIROpPattern(),
                ScalarsApart(),
                CastsApart(),
                FuseNamed(),
                relax.transform.FuseTIR(),
                relax.transform.DeadCodeElimination(),
                SizesFirst(),
            ]
        )(mod)
    return mod.with_attrs(attrs) if attrs else mod


@module_pass("tvm_megcc.ScalarsApart")
def ScalarsApart(mod: tvm.IRModule) -> tvm.IRModule:
    """Keep TIR functions that take dims as arguments, such as ``arange``, out of fusion.

    FuseTIR (TVM 0.27) ends in an internal error (``VarRemapGet``) where one is fused with a tensor
    whose shape has another dim that stands in no operand's shape. That needs two dims, and
    functions that take different ones: behind a stride, where all sizes are computed of two dims,
    each function takes both, and these are fused.
    """
    relax_functions = [f for f in mod.functions.values() if isinstance(f, relax.Function)]
    dims = [[v for v in variables_of(f).values() if isinstance(v, tirx.Var)]
            for f in relax_functions]  # fmt: skip
    if all(len(found) < 2 for found in dims):
        return mod
    taken = {
        gvar: frozenset(p.name for p in func.params if isinstance(p.ty, tvm.ir.PrimType))
        for gvar, func in mod.functions_items()
        if isinstance(func, tirx.PrimFunc)
    }
    every = frozenset().union(*taken.values())
    alike = len(every) > 1
    return set_apart(
        mod, [gvar for gvar, dims in taken.items() if dims and not (alike and dims == every)]
    )
