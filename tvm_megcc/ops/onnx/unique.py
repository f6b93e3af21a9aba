"""Unique (opset 11): of all elements, or of the slices along an axis."""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import product
from ...relax_tools.tir_kernels import computed, local
from ...shapes.axes import normal_axis
from ...shapes.read_from_data import sizes_from
from .. import Attrs, Context, Inputs, OnnxOp, Result


def groups(rows: te.Tensor, ordered: bool, nan_is_nan: bool) -> list[te.Tensor]:
    """The groups of equal rows.

    The rows' numbers go through a merge sort, which is stable: O(n log n) comparisons. Each
    comparison ends at the first column that differs.

    Parameters
    ----------
    rows : te.Tensor
        ``[n, m]``.
    ordered : bool
        Groups ascend, column after column, NaN last; else they come as their first rows do.
    nan_is_nan : bool
        Whether a NaN equals a NaN.

    Returns
    -------
    list of te.Tensor
        ``first, inverse, counts`` (``int64[n]``) and ``number`` (``int64[1]``).
    """
    made = [((size,), "int64") for size in (*[rows.shape[0]] * 3, 1)]
    kernel = partial(_kernel, ordered, nan_is_nan)
    found: list[te.Tensor] = computed("unique", [rows], made, kernel)
    return found


def _kernel(
    ordered: bool, nan_is_nan: bool, x: Any, first: Any, inverse: Any, counts: Any, number: Any
) -> None:
    count = x.shape[0]
    order, spare, sizes = (_vector(count) for _ in range(3))
    differs = local()
    _sort(x, order, spare, differs)
    # From here on `spare` holds each group's first row, and `sizes` its size, in sorted order.
    number[0] = tirx.const(0, "int64")
    with T.serial(0, count) as k:
        differs[0] = tirx.const(1, "int64")
        with T.If(k > 0), T.Then():
            _compare(x, order[k - 1], order[k], differs, nan_is_nan)
        with T.If(differs[0] != 0):
            with T.Then():
                spare[number[0]] = order[k]
                sizes[number[0]] = tirx.const(0, "int64")
                number[0] = number[0] + 1
        sizes[number[0] - 1] = sizes[number[0] - 1] + 1
        inverse[order[k]] = number[0] - 1
    if ordered:
        with T.serial(0, number[0]) as k:
            first[k] = spare[k]
            counts[k] = sizes[k]
    else:
        _as_they_come(count, order, spare, sizes, first, inverse, counts)


def _as_they_come(
    count: Any, rank: Any, firsts: Any, sizes: Any, first: Any, inverse: Any, counts: Any
) -> None:
    """Number the groups anew, by their first rows; `rank` is theirs to write."""
    following = local()
    following[0] = tirx.const(0, "int64")
    with T.serial(0, count) as i:
        with T.If(firsts[inverse[i]] == i):
            with T.Then():
                rank[inverse[i]] = following[0]
                first[following[0]] = i
                counts[following[0]] = sizes[inverse[i]]
                following[0] = following[0] + 1
        inverse[i] = rank[inverse[i]]


def _sort(x: Any, order: Any, spare: Any, differs: Any) -> None:
    """The numbers of the rows, ascending, into `order`: runs of double length are merged."""
    count = x.shape[0]
    width, low, left, right = (local() for _ in range(4))
    with T.serial(0, count) as i:
        order[i] = i
    width[0] = tirx.const(1, "int64")
    with T.While(width[0] < count):
        low[0] = tirx.const(0, "int64")
        with T.While(low[0] < count):
            middle, high = (tirx.min(low[0] + width[0] * k, count) for k in (1, 2))
            left[0], right[0] = low[0], middle
            with T.serial(0, high - low[0]) as k:
                # Which run gives the next one: the right one only where its row is less.
                differs[0] = tirx.const(-1, "int64")
                with T.If(left[0] >= middle):
                    with T.Then():
                        differs[0] = tirx.const(1, "int64")
                    with T.Else(), T.If(right[0] < high), T.Then():
                        _compare(x, order[left[0]], order[right[0]], differs, True)
                with T.If(differs[0] > 0):
                    with T.Then():
                        spare[low[0] + k] = order[right[0]]
                        right[0] = right[0] + 1
                    with T.Else():
                        spare[low[0] + k] = order[left[0]]
                        left[0] = left[0] + 1
            low[0] = low[0] + width[0] * 2
        with T.serial(0, count) as i:
            order[i] = spare[i]
        width[0] = width[0] * 2


def _compare(x: Any, a: Any, b: Any, differs: Any, nan_is_nan: bool) -> None:
    """``differs[0]``: 0 where rows `a` and `b` are equal, 1 where `b` is less, -1 where `a` is."""
    column = local()
    column[0] = tirx.const(0, "int64")
    differs[0] = tirx.const(0, "int64")
    with T.While(tirx.all(differs[0] == 0, column[0] < x.shape[1])):
        p, q = x[a, column[0]], x[b, column[0]]
        floating = "float" in str(p.ty.dtype)
        less, more = p < q, q < p
        if floating:  # NaN is greater than any number
            p_nan, q_nan = tirx.isnan(p), tirx.isnan(q)
            less = tirx.any(less, tirx.all(q_nan, tirx.Not(p_nan)) if nan_is_nan else q_nan)
            more = tirx.any(more, tirx.all(p_nan, tirx.Not(q_nan)))
        with T.If(less):
            with T.Then():
                differs[0] = tirx.const(-1, "int64")
            with T.Else(), T.If(more), T.Then():
                differs[0] = tirx.const(1, "int64")
        column[0] = column[0] + 1


def _vector(count: Any) -> Any:
    return T.buffer_proxy(T.alloc_buffer((count,), "int64", scope="global"))


class Unique(OnnxOp):
    """Groups of equal rows, their number, and a ``take`` of their first rows.

    NaN is treated as ONNX's reference (numpy) does: it sorts last; without an axis all NaN are one
    element, with one a slice that has a NaN equals no other.
    """

    data_dependent = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, axis = inputs[0], attrs.get("axis")
        shape = inputs.shape(0)
        if axis is None:
            axis, shape = 0, (product(shape),)
            data = ctx.reshape(data, shape)
        axis = normal_axis(int(axis), len(shape))
        others = [k for k in range(len(shape)) if k != axis]
        rows = data
        if axis:
            rows = ctx.emit(relax.op.permute_dims(rows, [axis, *others]))
        rows = ctx.reshape(rows, [shape[axis], product([shape[k] for k in others])])
        if inputs.dtype(0) == "bool":
            rows = ctx.emit(relax.op.astype(rows, "uint8"))
        # A vector has no slices: numpy takes its elements, whatever the axis says.
        vector = "axis" not in attrs or len(inputs.shape(0)) == 1
        found = ctx.builder.emit_te(groups, rows, bool(attrs.get("sorted", 1)), nan_is_nan=vector)
        first, inverse, counts, number = (ctx.emit(relax.TupleGetItem(found, k)) for k in range(4))
        (size,) = sizes_from(ctx, number, ["count"], [shape[axis]])
        first, counts = (
            ctx.emit(relax.op.strided_slice(v, [0], [0], [ctx.prim(size)], assume_inbound=True))
            for v in (first, counts)
        )
        return relax.op.take(data, first, axis=axis), first, inverse, counts
