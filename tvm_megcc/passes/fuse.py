"""FuseKernels: group what one hand-written kernel computes into a composite function.

Before: ``conv2d``, ``add``, ``nn.relu``. After: a call to a private function with attribute
``Composite = "tvm_megcc.conv2d.bias_relu"`` that holds the three. Only groups for which the
registry has a kernel are made; everything else is left for TVM's own fusion.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.transform import FusionPattern, PatternCheckContext

from tvm_megcc.kernels import catalogue, registry
from tvm_megcc.kernels.request import Row

COMPOSITE_PREFIX = "tvm_megcc."


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.FuseKernels")
class FuseKernels:
    """Partition the dataflow blocks of every function into composite functions.

    Parameters
    ----------
    arch : str
        Architecture whose kernels count (``portable``, ``arm64``, ``armv7``, ``x86``).
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch

    def transform_module(
        self, mod: tvm.IRModule, ctx: tvm.transform.PassContext
    ) -> tvm.IRModule:
        present = _op_names(mod)
        patterns = [
            FusionPattern(
                COMPOSITE_PREFIX + row.name,
                row.pattern,
                {**row.parts, "root": row.pattern},
                _check(row, self.arch),
            )
            for row in catalogue.rows().values()
            if row.anchors & present
        ]
        return relax.transform.FuseOpsByPattern(patterns, bind_constants=True)(mod)


def _op_names(mod: tvm.IRModule) -> set[str]:
    """Names of the operators that the module calls."""
    names: set[str] = set()

    def visit(expr: relax.Expr) -> None:
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
            names.add(expr.op.name)

    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, visit)
    return names


def _check(row: Row, arch: str):  # noqa: ANN202 - the type is TVM's callback
    def check(context: PatternCheckContext) -> bool:
        request = row.request(context.annotated_expr)
        return request is not None and registry.find(request.op, arch, request.facts) is not None

    return check
