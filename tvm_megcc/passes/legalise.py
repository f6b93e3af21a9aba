"""LegaliseRest: what no hand-written kernel took becomes fused TIR functions.

TVM's own legalisation and fusion, except that operators which only rename memory stay as they are
for `ForwardMemory`.
"""

from __future__ import annotations

import tvm
from tvm import relax

#: Left as Relax operators: `ForwardMemory` has turned every free one into a view.
KEPT = ["relax.memory.view", "relax.memory.ensure_zero_offset"]


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.LegaliseRest")
class LegaliseRest:
    """TVM's own legalisation and fusion, under its CPU target."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        attrs = mod.attrs
        with tvm.target.Target("llvm"):
            mod = tvm.transform.Sequential(
                [
                    relax.backend.DispatchSortScan(),
                    relax.transform.LegalizeOps(skip_ops=KEPT),
                    relax.transform.AnnotateTIROpPattern(),
                    relax.transform.FuseOps(),
                    relax.transform.FuseTIR(),
                    relax.transform.DeadCodeElimination(),
                ]
            )(mod)
        return mod.with_attrs(attrs) if attrs else mod
