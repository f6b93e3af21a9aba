"""TVM TIR -> freestanding C: the kernel of last resort for every operator.

In: one ``tirx.PrimFunc`` as ``LegalizeOps``, ``FuseOps`` and ``FuseTIR`` leave it. Out: one C99
file that defines one function of the kernel type of ``megcc_kernel.h``. `schedule` arranges the
loops, `flattening` flattens them, `stmts` and `c_exprs` print them, `vectors` the innermost ones.

Example
-------
>>> kernel = emit_prim_func(mod["fused_exp_add"], "megcc_tir_exp_add")   # doctest: +SKIP
>>> kernel.symbol, kernel.workspace_bytes, kernel.work                    # doctest: +SKIP
('megcc_tir_exp_add_0f3c9a61be', 0, 4096)
"""

from .emitter import GeneratedKernel, emit_prim_func, symbolic_vars
from .fused import FUSED
from .knobs import CANDIDATES, USUAL, Knobs

__all__ = [
    "CANDIDATES",
    "FUSED",
    "USUAL",
    "GeneratedKernel",
    "Knobs",
    "emit_prim_func",
    "symbolic_vars",
]
