"""WidenWeights: quantised weights that no kernel takes become floats at compile time.

Before: ``matmul(x, dequantize(constant))`` for any `x`. After: only where a kernel takes both
calls; the other constants are folded.
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.fuse import matmul_wq
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.fuse.widened import widened
from tvm_megcc.passes.fold_constants import folded
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.work_attributes import with_widened


@module_pass("tvm_megcc.WidenWeights")
def WidenWeights(mod: tvm.IRModule, arch: str) -> tvm.IRModule:
    """Fold quantised weights to floats where no kernel takes them quantised.

    Parameters
    ----------
    arch : str
        Architecture whose kernels count (``portable``, ``arm64``, ``armv7``, ``x86``).
    """
    kept: set[relax.Var] = set()
    taken: set[relax.Var] = set()
    for _, func in plain_functions(mod):
        weights = matmul_wq.weights(func)
        kept |= weights.keys()
        if weights:
            matches = find_matches(func, arch).values()
            taken |= weights.keys() & set().union(*(match.inside for match in matches))
    if not kept - taken:
        return mod
    return with_widened(folded(mod, taken), widened(mod, taken))
