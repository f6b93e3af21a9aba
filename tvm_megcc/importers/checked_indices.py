"""Check indices of Relax's gathers and scatters at run time, as ONNX asks.

TVM's own kernels take indices as they are: what is outside is memory of others. Here a negative
index counts from the end, once, and a run with any other one outside of its axis ends with
``MEGCC_ERR_DATA``, as it does in a model that came from ONNX (`ops.common.indexing`).

Before: ``gather_nd(data, indices)``. After: ``gather_nd(data, wrapped(checked(indices)))``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import constant
from tvm_megcc.relax_tools.shape_exprs import symbols_of, variables_of

from ..dims import Size, is_static
from ..ops.common.context import Context
from ..ops.common.indexing import checked_when_run


def with_checked_indices(mod: tvm.IRModule, name: str) -> relax.Function:
    """A function of the module whose operators read and write at checked indices.

    Raises
    ------
    UnsupportedError
        A constant index is outside, or an operator is given a tensor of unknown shape.
    """
    func = mod[name]
    return _Checking(mod, func).visit_expr(func)


@relax.expr_functor.mutator
class _Checking(relax.PyExprMutator):
    def __init__(self, mod: tvm.IRModule, func: relax.Function) -> None:
        super().__init__(mod)
        self._variables, self._symbols = variables_of(func), symbols_of(func)

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        value = binding.value
        rewrite = _INDEXED.get(op_name(value)) if isinstance(value, relax.Call) else None
        if rewrite is not None:
            what = f"{op_name(value).removeprefix('relax.')} '{binding.var.name}'"
            call = super().visit_call_(value)
            ctx = Context(self.builder_, "", what, (), self._variables, self._symbols)
            binding = relax.VarBinding(binding.var, rewrite(ctx, call))
        super().visit_var_binding_(binding)


def _inside(
    ctx: Context, indices: relax.Expr, sizes: Sequence[Size], columns: bool = False
) -> relax.Expr:
    """Indices of axes of these sizes, checked and counted from the front.

    Parameters
    ----------
    sizes : sequence of Size
        One, or one for each of the `columns`.
    columns : bool
        Whether the last axis of the indices has an index for each of the axes.
    """
    dtype = str(indices.ty.dtype)
    shape = ctx.shape(indices)
    if dtype == "bool" or 0 in shape or not sizes:
        return indices
    if dtype not in ("int32", "int64"):  # which holds every size
        indices, dtype = ctx.emit(relax.op.astype(indices, "int64")), "int64"
    known = constant(indices)
    if known is not None and is_static(sizes):
        limits = np.array(sizes if columns else sizes[0], dtype)
        if not ((-limits <= known) & (known < limits)).all():
            raise ctx.unsupported(
                f"an index outside its axis of {', '.join(map(str, sizes))}", "correct the model"
            )
        return ctx.const(np.where(known < 0, known + limits, known), dtype)
    axes = list(range(len(sizes)))
    indices = checked_when_run(ctx, indices, sizes, axes, columns)
    whole = ctx.sizes(sizes, dtype)
    wrapped = ctx.emit(relax.op.add(indices, whole if columns else ctx.reshape(whole, [])))
    below = ctx.emit(relax.op.less(indices, ctx.const(0, dtype)))
    return ctx.emit(relax.op.where(below, wrapped, indices))


def _take(ctx: Context, call: relax.Call) -> relax.Expr:
    data, indices = call.args
    if call.attrs.mode != "fast":  # the others say what becomes of any index
        return call
    axis = int(call.attrs.axis or 0)  # none of a vector
    return relax.op.take(data, _inside(ctx, indices, [ctx.shape(data)[axis]]), axis, "fast")


def _elements(ctx: Context, call: relax.Call) -> relax.Expr:
    """``gather_elements`` and ``scatter_elements``: one axis."""
    data, indices, *updates = call.args
    indices = _inside(ctx, indices, [ctx.shape(data)[int(call.attrs.axis)]])
    return relax.Call(call.op, [data, indices, *updates], call.attrs, call.ty_args)


def _gather_blocks(ctx: Context, call: relax.Call) -> relax.Expr:
    data, indices = call.args
    first = int(call.attrs.batch_dims)
    return relax.op.gather_nd(data, _rows(ctx, data, indices, first), first)


def _scatter_blocks(ctx: Context, call: relax.Call) -> relax.Expr:
    data, indices, updates = call.args
    indices = _rows(ctx, data, indices, 0)
    return relax.Call(call.op, [data, indices, updates], call.attrs, call.ty_args)


def _rows(ctx: Context, data: relax.Expr, indices: relax.Expr, first: int) -> relax.Expr:
    """Check rows of indices, one for each axis of the data from `first` on."""
    (count,) = ctx.static(ctx.shape(indices)[-1:])
    return _inside(ctx, indices, ctx.shape(data)[first : first + count], columns=True)


def _tensors(ctx: Context, call: relax.Call) -> relax.Expr:
    """``index_tensor`` and ``index_put``: a tensor of indices for each of the first axes."""
    data, indices, *values = call.args
    fields = indices.fields if isinstance(indices, relax.Tuple) else [indices]
    if any(not isinstance(field.ty, relax.TensorType) for field in fields):
        raise ctx.unsupported("its indices are no tuple of tensors", "give it one")
    sizes = ctx.shape(data)
    made = relax.Tuple([_inside(ctx, f, [s]) for f, s in zip(fields, sizes, strict=False)])
    return relax.Call(call.op, [data, made, *values], call.attrs, call.ty_args)


#: Operator -> the same with checked indices.
_INDEXED: dict[str, Callable[[Context, relax.Call], relax.Expr]] = {
    "relax.gather_elements": _elements,
    "relax.gather_nd": _gather_blocks,
    "relax.index_put": _tensors,
    "relax.index_tensor": _tensors,
    "relax.scatter_elements": _elements,
    "relax.scatter_nd": _scatter_blocks,
    "relax.take": _take,
}
