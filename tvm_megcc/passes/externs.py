"""CallExterns: calls of functions that the user supplies in C become calls of kernels.

Before: ``y = R.call_dps_packed("my_op", (x, R.prim_value(3)), out_ty=...)``. After: ``y =
R.call_dps_packed("megcc_extern_my_op_3f9c1a27e0", (x, R.shape(attrs), R.shape([1, 0, cost])),
...)``, the form of `relax_tools.kernel_calls`. The kernel is a few lines of C that the module
attribute holds: it gives ``my_op`` its tensors with their dims, which are the first attributes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import tvm
from tvm import relax, tirx

from tvm_megcc.core.program import Kernel
from tvm_megcc.dims import Size
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import dtype_of, known_shape
from tvm_megcc.relax_tools.kernel_calls import KernelCall, kernels_of, with_kernels
from tvm_megcc.relax_tools.rewriting import module_pass, with_calls, with_functions
from tvm_megcc.relax_tools.shape_exprs import (
    Symbols,
    size_of,
    sizes_of,
    symbols_of,
    variables_of,
)

#: Keywords of C, which no function can be named by.
_TAKEN = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long main register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while".split()
)


@module_pass("tvm_megcc.CallExterns")
def CallExterns(mod: tvm.IRModule) -> tvm.IRModule:
    """Replace calls of the user's C functions by calls of kernels that call them.

    Raises
    ------
    UnsupportedError
        A function's name is not valid in C, or an argument is neither a tensor nor integers.
    """
    known = set(kernels_of(mod))
    made: dict[str, Kernel] = {}
    functions = {}
    for gvar, func in plain_functions(mod):
        caller = _Caller(known, variables_of(func), symbols_of(func), made)
        functions[gvar] = with_calls(mod, func, caller.kernel_call)
    mod = with_functions(mod, functions)
    return with_kernels(mod, made.values()) if made else mod


@dataclass(frozen=True, slots=True)
class _Caller:
    """Makes the calls of one Relax function."""

    known: set[str]
    variables: dict[str, tirx.Var]
    symbols: Symbols
    made: dict[str, Kernel]

    def kernel_call(self, call: relax.Call, where: str) -> relax.Call | None:
        if op_name(call) != "relax.call_dps_packed":
            return None
        name = str(call.args[0].global_symbol)
        if name in self.known:
            return None
        if not re.fullmatch(r"(?!megcc_)[A-Za-z]\w*", name, re.ASCII) or name in _TAKEN:
            raise UnsupportedError(
                f"{where}: the module calls '{name}', which cannot be the name of a function in C;"
                " write it with Relax operators or as a PrimFunc, or call a function of yours"
            )
        tensors, integers = self._arguments(call.args[1].fields, name, where)
        results = call.ty.fields if isinstance(call.ty, relax.TupleType) else [call.ty]
        every = [*tensors, *(relax.Var(where, ty) for ty in results)]
        shapes = [known_shape(t, where, self.symbols) for t in every]
        rows = [(dtype_of(t), len(shape)) for t, shape in zip(every, shapes, strict=True)]
        kernel = _kernel(name, rows)
        self.made[kernel.symbol] = kernel
        dims = [dim for shape in shapes for dim in shape]
        cost: Size = 1
        for dim in shapes[-1]:
            cost = cost * dim
        found = KernelCall(kernel.symbol, tuple(tensors), (*dims, *integers), 1, 0, cost)
        return found.expr(call.ty, self.variables)

    def _arguments(
        self, given: Sequence[relax.Expr], name: str, where: str
    ) -> tuple[list[relax.Expr], list[Size]]:
        """Tensors of a call, and all its integers in order."""
        tensors: list[relax.Expr] = []
        integers: list[Size] = []
        for argument in given:
            if isinstance(argument.ty, relax.TensorType):
                tensors.append(argument)
                continue
            sizes = sizes_of(argument, self.symbols)
            if sizes is None:
                size = size_of(getattr(argument, "value", argument), self.symbols)
                if size is None:
                    raise UnsupportedError(
                        f"{where}: an argument of '{name}' is {argument.ty}; a function in C takes"
                        " tensors, integers and R.shape of them"
                    )
                sizes = (size,)
            integers += sizes
        return tensors, integers


def _kernel(name: str, rows: Sequence[tuple[str, int]]) -> Kernel:
    """Kernel that calls the function `name` with tensors of these types and ranks."""
    told = hashlib.sha256(repr(rows).encode()).hexdigest()[:10]
    symbol = f"megcc_extern_{name}_{told}"
    tensors, at = [], 0
    for number, (dtype, rank) in enumerate(rows):
        tensors.append(f"    {{ptr[{number}], MEGCC_{dtype.upper()}, {rank}, {_attr(at)}}},\n")
        at += rank
    function = (
        f"void {symbol}(\n    void *const *ptr, const int32_t *attr, void *workspace,"
        " int32_t begin, int32_t end)"
    )
    source = (
        '#include <megcc_extern.h>\n\n#include "megcc_kernel.h"\n\n'
        f"void {name}(const megcc_extern_tensor_t *tensor, const int32_t *attr);\n\n"
        f"{function};\n\n{function} {{\n"
        f"  const megcc_extern_tensor_t tensor[{len(rows)}] = {{\n{''.join(tensors)}  }};\n"
        "  (void)workspace;\n  (void)begin;\n  (void)end;\n"
        f"  {name}(tensor, {_attr(at)});\n}}\n"
    )
    return Kernel(symbol, source=source, extern=name)


def _attr(at: int) -> str:
    """C expression of an attribute's address; the first one has none to add to."""
    return f"attr + {at}" if at else "attr"
