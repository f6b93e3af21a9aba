"""Generate: calls of TIR functions, which no kernel of the library took, become calls of C kernels.

Before: ``y = R.call_tir(cls.fused_exp_add, (x, z), ...)``. After: ``y = R.call_dps_packed(
"megcc_tir_fused_exp_add_0f3c9a61be", (x, z, R.shape(attrs), R.shape([work, workspace, cost])),
...)``, the same form as the library's kernels have (`relax_tools.kernel_calls`). The module
attribute holds the C text; the TIR function goes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relax, tirx

from tvm_megcc.codegen_c.tir import FUSED, GeneratedKernel, symbolic_vars
from tvm_megcc.codegen_c.tir.c_sizes import evaluate
from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Size
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.legalise.generated_forms import generated
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import called_by, plain_functions
from tvm_megcc.relax_tools.exprs import known_shape
from tvm_megcc.relax_tools.kernel_calls import KernelCall, with_kernels
from tvm_megcc.relax_tools.nodes import nodes_of
from tvm_megcc.relax_tools.rewriting import module_pass, with_calls, with_functions
from tvm_megcc.relax_tools.shape_exprs import Symbols, size_of, symbols_of, variables_of

#: Characters of a fused function's name that go into its symbol.
MAX_HINT = 40
#: How the labels of nodes begin that quantise by the range of their data.
MEASURING = "DynamicQuantize"


@module_pass("tvm_megcc.Generate")
def Generate(
    mod: tvm.IRModule, entries: Sequence[str] | None = None, arch: str = "portable"
) -> tvm.IRModule:
    """Replace calls of TIR functions by calls of kernels made of their C.

    Parameters
    ----------
    entries : sequence of str, optional
        Compile only functions that these reach: others may have operators without C. Default:
        every function of the module.
    arch : str
        The machine, for which records may know better loops (`legalise.generated_forms`).

    Raises
    ------
    UnsupportedError
        When a TIR function has no C, or one of its sizes follows from no operand.
    """
    reached = None if entries is None else {*entries, *called_by(mod, entries)}
    made: dict[str, GeneratedKernel] = {}
    measures = any(node.label.startswith(MEASURING) for node in nodes_of(mod))
    functions = {}
    for gvar, func in plain_functions(mod):
        if reached is None or gvar.name_hint in reached:
            sizes = variables_of(func), symbols_of(func)
            generator = _Generator(mod, arch, *sizes, made, measures)
            functions[gvar] = with_calls(mod, func, generator.kernel_call)
    result = with_functions(mod, functions)
    if not made:
        return result
    kernels = [
        Kernel(m.symbol, source=m.source, inplace=m.inplace, rows=m.rows) for m in made.values()
    ]
    return with_kernels(relax.transform.DeadCodeElimination()(result), kernels)


@dataclass(frozen=True, slots=True)
class _Generator:
    """Makes the kernel calls of one function.

    Attributes
    ----------
    made : dict
        Kernel of each TIR function, by the function's name.
    measures : bool
        Whether the model measures ranges during a run: results must then be equal on all machines.
    """

    mod: tvm.IRModule
    arch: str
    variables: dict[str, tirx.Var]
    symbols: Symbols
    made: dict[str, GeneratedKernel]
    measures: bool

    def kernel_call(self, call: relax.Call, name: str) -> relax.Call | None:
        if op_name(call) != "relax.call_tir":
            return None
        callee, arguments = call.args[0], call.args[1].fields
        func, hint = self.mod[callee], callee.name_hint
        dims = self._dims(func, arguments, call.ty_args[0], name) if symbolic_vars(func) else ()
        if self.measures:
            func = func.with_attr(FUSED, True)
        if hint not in self.made:
            self.made[hint] = generated(func, f"megcc_tir_{_readable(hint)}", self.arch, dims)
        made = self.made[hint]
        work, workspace, cost = (
            evaluate(e, dims) for e in (made.work_expr, made.workspace_expr, made.cost_expr)
        )
        operands = tuple(a for a in arguments if not _is_size(a))
        found = KernelCall(made.symbol, operands, dims, work, workspace, cost)
        return found.expr(call.ty_args[0], self.variables)

    def _dims(
        self, func: tirx.PrimFunc, arguments: Sequence[relax.Expr], ty: relax.Type, name: str
    ) -> tuple[Size, ...]:
        """Sizes of a TIR function's symbolic dims in a call, in the order of its attributes."""
        known: dict[tirx.Var, Size | None] = {}
        for param, arg in zip(func.params, arguments, strict=False):
            if _is_size(arg):
                known[param] = size_of(arg, self.symbols)
            else:
                known |= _unified(param, known_shape(arg, getattr(arg, "name", name), self.symbols))
        results = ty.fields if isinstance(ty, relax.TupleType) else [ty]
        for param, result in zip(func.params[len(arguments) :], results, strict=True):
            known |= _unified(param, known_shape(relax.Var(name, result), name, self.symbols))
        found = []
        for variable in symbolic_vars(func):
            size = known.get(variable)
            if size is None:
                raise UnsupportedError(
                    f"{name}: the size '{variable.name}' of its loops follows from no operand's"
                    " shape; give sizes with --input-shapes"
                )
            found.append(size)
        return tuple(found)


def _is_size(arg: relax.Expr) -> bool:
    """Whether an argument is a number, not a tensor."""
    return isinstance(arg.ty, tvm.ir.PrimType)


def _unified(param: tirx.Var, shape: tuple[Size, ...]) -> dict[tirx.Var, Size | None]:
    """Variables that are whole extents of a parameter -> their sizes in this shape."""
    pairs = zip(param.ty.shape, shape, strict=True)
    return {extent: size for extent, size in pairs if isinstance(extent, tvm.ir.Var)}


def _readable(hint: str) -> str:
    """A function's name without the numbers of TVM, which differ between runs."""
    return re.sub(r"\d+(?=_|$)", "", hint)[:MAX_HINT]
