"""MaterialiseKernels: calls that one kernel computes become a call of the kernel's symbol.

Before: ``conv2d``, ``add``, ``nn.relu``. After: ``y = R.call_dps_packed("megcc_conv2d_...", (x,
packed, bias, R.shape(attrs), R.shape([work, workspace, cost, overlap])), ...)`` (see
`relax_tools.kernel_calls`). `fuse.assigning` decides which kernel computes which calls. Constants
are packed for the chosen kernel. Calls that no kernel takes stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.core.program import Kernel
from tvm_megcc.fuse.assigning import assigned
from tvm_megcc.fuse.match import Match
from tvm_megcc.fuse.multiply_adds import multiply_adds
from tvm_megcc.kernels import packing
from tvm_megcc.kernels.kernel_file import KernelFile
from tvm_megcc.relax_tools.exprs import constant, make_constant
from tvm_megcc.relax_tools.kernel_calls import KernelCall, with_kernels, with_spending
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.shape_exprs import variables_of
from tvm_megcc.relax_tools.work_attributes import with_work


@module_pass("tvm_megcc.MaterialiseKernels")
def MaterialiseKernels(
    mod: tvm.IRModule, arch: str, preference: Preference = DEFAULT
) -> tvm.IRModule:
    """Replace calls that kernels compute by calls of kernel symbols.

    Parameters
    ----------
    arch : str
        Architecture whose kernels count (``portable``, ``arm64``, ``armv7``, ``x86``).
    preference : Preference
        What decides between kernels of equal rank.
    """
    found = assigned(mod, arch, preference)
    rewriter = _Materialiser(mod)
    counts: Counter[str] = Counter()
    for gvar, func, matches in found.functions:
        rewriter.matches = {var: (match, found.kernels[var]) for var, match in matches.items()}
        rewriter.variables = variables_of(func)
        rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
        counts += multiply_adds(func, matches.values())
    result = relax.transform.DeadCodeElimination()(rewriter.builder_.get())
    result = with_kernels(with_work(result, counts, found.tables), rewriter.kernels.values())
    return with_spending(result, found.spending)


@mutator
class _Materialiser(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self.matches: dict[relax.Var, tuple[Match, KernelFile]] = {}
        self.kernels: dict[str, Kernel] = {}
        self.variables: dict[str, tvm.tirx.Var] = {}

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        found = self.matches.get(binding.var)
        if found is not None:
            binding = relax.VarBinding(binding.var, self._call(*found, binding.var.ty))
        super().visit_var_binding_(binding)

    def _call(self, match: Match, serving: KernelFile, ty: relax.Type) -> relax.Call:
        facts = match.request.facts
        kernel = serving.instance(facts)
        self.kernels[kernel.symbol] = kernel
        given = match.request.operands
        known = packing.Call(facts, _constants(given))
        packed = packing.apply(serving.packings(facts), known)
        operands = [
            make_constant(packed[name]) if name in packed else given[name] for name in given
        ]
        call = KernelCall(
            kernel.symbol,
            tuple(operands),
            serving.attrs(facts),
            serving.work(facts),
            serving.workspace(facts),
            serving.cost(facts),
            serving.overlap(facts),
        )
        return call.expr(ty, self.variables)


def _constants(operands: Mapping[str, relax.Expr | np.ndarray]) -> dict[str, np.ndarray]:
    """Constant operands by name."""
    arrays = {
        name: operand if isinstance(operand, np.ndarray) else constant(operand)
        for name, operand in operands.items()
    }
    return {name: array for name, array in arrays.items() if array is not None}
