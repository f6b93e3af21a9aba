"""ChannelsLast: convolutions and pooling run in NHWC with OHWI weights.

TVM's ``ConvertLayout`` moves the layout through the operators between two convolutions and puts
``permute_dims`` where it cannot; the transposes of weights are folded, and pairs that cancel go.
"""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.passes.fold_constants import FoldConstants

LAYOUTS = {"relax.nn.conv2d": ["NHWC", "OHWI"]}


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ChannelsLast")
class ChannelsLast:
    """``ConvertLayout`` for conv2d, then `FoldConstants` and `CancelTransposes`."""

    def transform_module(
        self, mod: tvm.IRModule, ctx: tvm.transform.PassContext
    ) -> tvm.IRModule:
        return tvm.transform.Sequential(
            [relax.transform.ConvertLayout(LAYOUTS), FoldConstants(), CancelTransposes()]
        )(mod)


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.CancelTransposes")
class CancelTransposes:
    """``permute_dims(permute_dims(x, a), b)`` -> one permutation, or ``x`` where they cancel."""

    def transform_module(
        self, mod: tvm.IRModule, ctx: tvm.transform.PassContext
    ) -> tvm.IRModule:
        canceller = _Canceller(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                canceller.builder_.update_func(gvar, canceller.visit_expr(func))
        mod = relax.transform.CanonicalizeBindings()(canceller.builder_.get())
        return relax.transform.DeadCodeElimination()(mod)


@mutator
class _Canceller(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        outer = _axes(call)
        if outer is None or not isinstance(call.args[0], relax.Var):
            return call
        inner_call = self.lookup_binding(call.args[0])
        inner = _axes(inner_call)
        if inner is None:
            return call
        axes = [inner[a] for a in outer]
        source = inner_call.args[0]
        return source if axes == sorted(axes) else relax.op.permute_dims(source, axes)


def _axes(call: relax.Expr | None) -> list[int] | None:
    is_op = isinstance(call, relax.Call) and isinstance(call.op, tvm.ir.Op)
    if not is_op or call.op.name != "relax.permute_dims":
        return None
    rank = len(call.ty.shape.values)
    axes = call.attrs.axes
    return [int(a) % rank for a in axes] if axes is not None else list(range(rank))[::-1]
