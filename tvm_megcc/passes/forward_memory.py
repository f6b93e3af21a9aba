"""ForwardMemory: operators whose result is bytes of their input become views and cost nothing.

``reshape``, ``squeeze``, ``expand_dims``, ``flatten``, a permutation that moves only axes of extent
one, and a slice or split of leading dims become ``R.memory.view(x, shape, dtype, byte_offset)``.
"""

from __future__ import annotations

from math import prod

import tvm
from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.kernels.request import as_int, dtype_of, static_shape
from tvm_megcc.program import DTYPES

_RENAMES = {"relax.reshape", "relax.squeeze", "relax.expand_dims", "relax.flatten"}


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ForwardMemory")
class ForwardMemory:
    """Rewrite free operators of static shape to ``memory.view``."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        forwarder = _Forwarder(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function) and not (func.attrs and "Composite" in func.attrs):
                forwarder.builder_.update_func(gvar, forwarder.visit_expr(func))
        return relax.transform.DeadCodeElimination()(forwarder.builder_.get())


@mutator
class _Forwarder(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        if not isinstance(call.op, tvm.ir.Op) or not call.args:
            return call
        source, name = call.args[0], call.op.name
        if isinstance(source, GenericConst) or not isinstance(source.ty, relax.TensorType):
            return call
        shape, result = static_shape(source), None
        if shape is None:
            return call
        if name in _RENAMES or (name == "relax.permute_dims" and _moves_only_ones(call, shape)):
            result = _view(source, static_shape(call), 0)
        elif name == "relax.strided_slice":
            result = _slice(call, source, shape)
        elif name == "relax.split":
            return self._split(call, source, shape)
        return call if result is None else result

    def _split(self, call: relax.Call, source: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
        axis = int(call.attrs.axis) % len(shape)
        if prod(shape[:axis]) != 1:
            return call
        views, start, inner = [], 0, prod(shape[axis + 1 :])
        for field in call.ty.fields:
            dims = tuple(as_int(d) for d in field.shape.values)
            views.append(self.builder_.emit(_view(source, dims, start * inner)))
            start += dims[axis]
        return relax.Tuple(views)


def _moves_only_ones(call: relax.Call, shape: tuple[int, ...]) -> bool:
    axes = call.attrs.axes
    order = [int(a) for a in axes] if axes is not None else list(range(len(shape)))[::-1]
    moved = [a for a in order if shape[a] != 1]
    return moved == sorted(moved)


def _slice(call: relax.Call, source: relax.Expr, shape: tuple[int, ...]) -> relax.Expr | None:
    """The view that a slice is when it leaves whole trailing dims and one run of a leading one."""
    result = static_shape(call)
    lists = [[as_int(getattr(v, "value", v)) for v in a.fields] for a in call.args[1:4]
             if isinstance(a, relax.Tuple)]  # fmt: skip
    if result is None or len(lists) < 2 or any(v is None for one in lists for v in one):
        return None
    axes, begins = lists[0], lists[1]
    steps = (
        [as_int(getattr(v, "value", v)) for v in call.args[4].fields] if len(call.args) > 4 else []
    )
    if any(s != 1 for s in steps):
        return None
    cut = [i for i, (a, b) in enumerate(zip(shape, result, strict=True)) if a != b]
    if any(prod(result[:i]) != 1 for i in cut):
        return None
    offset = 0
    for axis, begin in zip(axes, begins, strict=True):
        axis %= len(shape)
        begin = min(max(begin + shape[axis] if begin < 0 else begin, 0), shape[axis])
        if axis in cut:
            offset += begin * prod(shape[axis + 1 :])
    return _view(source, result, offset)


def _view(source: relax.Expr, shape: tuple[int, ...] | None, offset: int) -> relax.Expr:
    assert shape is not None
    start = offset * DTYPES[dtype_of(source)]
    return relax.op.memory.view(source, shape, relative_byte_offset=relax.prim_value(start))
