"""Weights of a bf16 model: bf16 in the package, f32 where they are multiplied.

Enters: a module marked as a bf16 model's (`relax_tools.half`); others are unchanged. All arithmetic
is in f32, as the frontend has made it.

* `RoundBf16Weights`, after folding: weights that have taken in a batch normalisation are rounded to
  bf16 again. Weights that the model has in f32 stay, and so do bodies of loops.
* `NarrowBf16Weights`, where kernels are chosen. Before: ``matmul(x, w)``. After: ``matmul(x,
  astype(w, "float32"))`` with `w` in bf16, if it holds every number; ``take(w, i)`` becomes
  ``astype(take(w, i), "float32")``. Kernels that read bf16 take the ``astype``; what is left of
  them runs, but a 2-D convolution without such a kernel gets its f32 weights back.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from tvm_megcc.fuse.graph import Graph
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes.fold_constants import folded
from tvm_megcc.passes.half_precision import PRODUCTS
from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.calls import op_name, with_args
from tvm_megcc.relax_tools.control_flow import Iterations, plain_functions, region_of
from tvm_megcc.relax_tools.exprs import constant, make_constant
from tvm_megcc.relax_tools.rewriting import (
    Rewriter,
    module_pass,
    on,
    rewritten,
    with_calls,
    with_functions,
)
from tvm_megcc.relax_tools.work_attributes import with_widened

_TAKE, _CAST, _CONV2D = "relax.take", "relax.astype", "relax.nn.conv2d"
_FULL = "float32"


@module_pass("tvm_megcc.RoundBf16Weights")
def RoundBf16Weights(mod: tvm.IRModule, precision: str = "model") -> tvm.IRModule:
    """Round constant weights of a bf16 model to bf16 again, after folding has changed them.

    Parameters
    ----------
    precision : {"model", "fp32", "fp16", "mixed"}
        All but ``model`` leave a module as it is.
    """
    said = half.said(mod, half.BF16)
    if precision != "model" or said is None:
        return mod
    # The body of a loop keeps the model's weights: those of an LSTM do not tell their type.
    regions = map(region_of, mod.functions.values())
    repeated = {region.body for region in regions if isinstance(region, Iterations)}
    functions = {g: f for g, f in plain_functions(mod) if g.name_hint not in repeated}
    full = {v.name for func in functions.values() for v in said.variables(func)}

    def rounded(call: relax.Call, name: str) -> relax.Call | None:
        places = [] if name in full else _weights(call)
        args = list(call.args)
        for k in places:
            args[k] = make_constant(_narrowed(args[k]).astype(np.float32))
        return with_args(call, args) if places else None

    return with_functions(mod, {g: with_calls(mod, f, rounded) for g, f in functions.items()})


@module_pass("tvm_megcc.NarrowBf16Weights")
def NarrowBf16Weights(mod: tvm.IRModule, arch: str, precision: str = "model") -> tvm.IRModule:
    """Store weights of a bf16 model as bf16 where kernels read them so.

    Parameters
    ----------
    arch : str
        Architecture whose kernels count.
    precision : {"model", "fp32", "fp16", "mixed"}
        All but ``model`` leave a module as it is.
    """
    if precision != "model" or half.said(mod, half.BF16) is None:
        return mod
    mod = rewritten(mod, _Narrower(mod))
    kept: set[relax.Var] = set()
    reasons: dict[str, str] = {}
    for _, func in plain_functions(mod):
        graph = Graph(func)
        wide = [v for v, value in graph.values.items() if _widens(value)]
        matches = find_matches(func, arch).values() if wide else ()
        taken = set().union(*(match.inside for match in matches))
        for var in wide:
            users = [u for u in graph.users_of(var) if op_name(graph.values[u]) == _CONV2D]
            array = constant(graph.values[var].args[0])
            if var in taken or not users or array is None:
                kept.add(var)
            else:
                reasons[users[0].name] = (
                    f"{array.size} numbers of 4 bytes each, as no kernel of conv2d takes them"
                    " in bf16"
                )
    return with_widened(folded(mod, kept), reasons)


def _weights(call: relax.Expr) -> list[int]:
    """Positions of a product's operands that are f32 constants of two or more dims."""
    if op_name(call) not in PRODUCTS:
        return []
    arrays = [constant(arg) for arg in call.args]
    return [
        k for k, a in enumerate(arrays) if a is not None and a.ndim > 1 and a.dtype == np.float32
    ]


def _narrowed(expr: relax.Expr) -> np.ndarray:
    array = constant(expr)
    assert array is not None, expr
    return array.astype(ml_dtypes.bfloat16)


def _widens(value: relax.Expr) -> bool:
    """Whether a call casts a bf16 constant."""
    array = constant(value.args[0]) if op_name(value) == _CAST else None
    return array is not None and array.dtype == ml_dtypes.bfloat16


@mutator
class _Narrower(Rewriter):
    @on(*PRODUCTS)
    def _product(self, call: relax.Call) -> relax.Expr:
        args = list(call.args)
        for k in _weights(call):
            array = _narrowed(args[k])
            if (array.astype(np.float32) != constant(args[k])).any():
                continue
            if op_name(call) == _TAKE:
                rows = relax.Call(call.op, [make_constant(array), *args[1:]], call.attrs)
                return relax.op.astype(self.emit(rows), _FULL)
            args[k] = self.emit(relax.op.astype(make_constant(array), _FULL))
        return with_args(call, args)
