"""Reading and writing at indices from data, by one rule for every operator.

A negative index counts from the end, once. Where ONNX calls an index outside of its axis an error
the run ends before (`checked`). So writing is only for checked
indices. Reading takes the nearest place inside the axis, for any index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size, is_static
from ...relax_tools.tir_kernels import computed
from .context import Context, Known
from .inputs import Inputs

#: A reduction: the present value and the update -> the new value.
Update = Callable[[Any, Any], Any]
UPDATES: dict[str, Update] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": tirx.min,
    "max": tirx.max,
}
_OF_BOOLS: dict[str, Update] = {
    "none": UPDATES["none"],
    "add": tirx.Or,
    "mul": tirx.And,
    "min": tirx.And,
    "max": tirx.Or,
}

# ---- what ONNX calls an error ------------------------------------------------------------------


def checked(
    ctx: Context,
    inputs: Inputs,
    axes: Sequence[int],
    *,
    data: relax.Expr,
    index: int = 1,
    columns: bool = False,
) -> tuple[relax.Expr, relax.Expr]:
    """The data and the indices, of a run in which every index is in ``[-size, size)`` of its axis.

    Parameters
    ----------
    ctx, inputs
    axes : sequence of int
        The axes of the data that are indexed: one, or one for each of the `columns`.
    data : relax.Expr
    index : int
        The operand of the indices.
    columns : bool
        Whether the last axis of the indices has an index for each of the axes.

    Raises
    ------
    UnsupportedError
        An index that is known is outside.
    """
    known = inputs.known(index)
    if known is None and axes:
        return data, checked_when_run(ctx, inputs[index], ctx.shape(data), axes, columns)
    if known is not None:
        for column, axis in enumerate(axes):
            data = large_enough(ctx, data, axis, known[..., column] if columns else known)
    return data, inputs[index]


def large_enough(ctx: Context, data: relax.Expr, axis: int, known: Known) -> relax.Expr:
    """The data, for shapes with which known indices are inside of this axis."""
    if not known.size:
        return data
    size, least, most = ctx.shape(data)[axis], int(known.min()), int(known.max())
    if isinstance(size, int) and not -size <= least <= most < size:
        raise ctx.unsupported(
            f"index outside [-{size}, {size - 1}] on axis {axis}", "correct the model"
        )
    return ctx.at_least(data, axis, max(most + 1, -least))


def checked_when_run(
    ctx: Context, indices: relax.Expr, shape: Sequence[Size], axes: Sequence[int], columns: bool
) -> relax.Expr:
    """The indices, of a run in which all are in ``[-size, size)`` of their axes; see `checked`."""
    dtype = str(indices.ty.dtype)
    over = list(range(len(ctx.shape(indices)) - 1)) if columns else None
    sizes = [shape[axis] for axis in axes]
    if is_static(sizes):
        highs = ctx.const(sizes if columns else sizes[0], dtype)
    else:
        highs = ctx.sizes(sizes, dtype)
        highs = highs if columns else ctx.reshape(highs, [])
    most = ctx.emit(relax.op.max(indices, over)) if over != [] else indices
    holds = relax.op.less(most, highs)
    if not dtype.startswith("uint"):
        least = ctx.emit(relax.op.min(indices, over)) if over != [] else indices
        lows = ctx.emit(relax.op.negative(highs))
        holds = relax.op.logical_and(relax.op.greater_equal(least, lows), ctx.emit(holds))
    holds = ctx.emit(holds)
    return ctx.checked(indices, all_of(ctx, holds) if columns else holds)


def all_of(ctx: Context, holds: relax.Expr) -> relax.Expr:
    """Whether all of some booleans are true: one ``bool``."""
    numbers = ctx.emit(relax.op.astype(holds, "int32"))
    return ctx.emit(relax.op.astype(ctx.emit(relax.op.min(numbers)), "bool"))


def in_bounds(ctx: Context, values: relax.Expr, low: int, high: Size) -> relax.Expr:
    """Whether all of some numbers are in ``[low, high]``, and none is NaN: one ``bool``."""
    dtype = str(values.ty.dtype)
    limit = ctx.size(high, dtype)
    floating = "float" in dtype  # its extremes may leave out NaN
    most, least = (values, values) if floating else (relax.op.max(values), relax.op.min(values))
    above = ctx.emit(relax.op.greater_equal(ctx.emit(least), ctx.const(low, dtype)))
    below = ctx.emit(relax.op.less_equal(ctx.emit(most), limit))
    holds = ctx.emit(relax.op.logical_and(above, below))
    return all_of(ctx, holds) if floating else holds


def from_front(ctx: Context, indices: relax.Expr, size: Size) -> relax.Expr:
    """Indices that are computed at run time, the negative ones counted from the front."""
    dtype = str(indices.ty.dtype)
    if dtype.startswith("uint"):
        return indices
    wrapped = ctx.emit(relax.op.add(indices, ctx.size(size, dtype)))
    below = ctx.emit(relax.op.less(indices, ctx.const(0, dtype)))
    return ctx.emit(relax.op.where(below, wrapped, indices))


# ---- reading -----------------------------------------------------------------------------------


def rows(
    ctx: Context, inputs: Inputs, axis: int, *, data: relax.Expr, index: int = 1
) -> relax.Expr:
    """The elements or rows of the data at these indices of an axis."""
    data, indices = checked(ctx, inputs, [axis], data=data, index=index)
    known = inputs.known(index)
    if known is None or np.any(known < 0):
        indices = from_front(ctx, indices, ctx.shape(data)[axis])
    return relax.op.take(data, indices, axis, "clip")


def elements_checked(ctx: Context, inputs: Inputs, axis: int) -> tuple[relax.Expr, relax.Expr]:
    """Data and indices of an axis, of a run where no other dim of the indices is the larger one."""
    data = inputs[0]
    for other, size in enumerate(inputs.shape(1)):
        if other != axis:
            data = ctx.at_least(data, other, size)
    return checked(ctx, inputs, [axis], data=data)


def rows_inside(ctx: Context, data: relax.Expr, indices: relax.Expr) -> relax.Expr:
    """Rows of a table whose indices may not be negative, in a run in which they are inside."""
    holds = in_bounds(ctx, indices, 0, ctx.shape(data)[0] - 1)
    return ctx.emit(relax.op.take(data, ctx.checked(indices, holds), axis=0, mode="clip"))


def read_elements(data: te.Tensor, indices: te.Tensor, axis: int) -> te.Tensor:
    """GatherElements: for each index an element, of the same place but for one axis."""

    def element(*at: Any) -> Any:
        place = _nearest(indices(*at), data.shape[axis])
        return data(*at[:axis], place, *at[axis + 1 :])

    return te.compute(indices.shape, element, name="gather_elements")


def read_blocks(data: te.Tensor, indices: te.Tensor, batch: int) -> te.Tensor:
    """GatherND: the block of data at each row of indices, behind `batch` common axes."""
    leading, count = list(indices.shape[:-1]), int(indices.shape[-1])
    first = batch + count

    def element(*at: Any) -> Any:
        where = at[: len(leading)]
        places = [_nearest(indices(*where, k), data.shape[batch + k]) for k in range(count)]
        return data(*at[:batch], *places, *at[len(leading) :])

    return te.compute([*leading, *data.shape[first:]], element, name="gather_nd")


def _nearest(index: Any, size: Any) -> Any:
    """The place of an index, or the nearest place inside the axis."""
    place, size = _wrapped(index, size)
    last = size - tirx.const(1, "int64")
    return tirx.max(tirx.min(place, last), tirx.const(0, "int64"))


def _wrapped(index: Any, size: Any) -> tuple[Any, Any]:
    index, size = index.astype("int64"), tirx.Cast("int64", size)
    return tirx.Select(index < tirx.const(0, "int64"), index + size, index), size


# ---- writing -----------------------------------------------------------------------------------


def write_elements(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int, reduction: str
) -> te.Tensor:
    """ScatterElements along an axis, with `reduction`; the run checks the indices."""

    def body(source: Any, index: Any, update: Any, out: Any) -> None:
        with _everywhere(indices.shape) as at:
            place, _ = _wrapped(index[tuple(at)], data.shape[axis])
            there = (*at[:axis], place, *at[axis + 1 :])
            out[there] = _update(data, reduction)(out[there], update[tuple(at)])

    return _written(data, indices, updates, body, "scatter_elements")


def write_blocks(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, reduction: str
) -> te.Tensor:
    """ScatterND: the data with each block of updates at its (checked) row of indices."""
    count = int(indices.shape[-1])

    def body(source: Any, index: Any, update: Any, out: Any) -> None:
        with _everywhere(indices.shape[:-1]) as at:
            places = [_wrapped(index[(*at, k)], data.shape[k])[0] for k in range(count)]
            with _everywhere(data.shape[count:]) as rest:
                there = (*places, *rest)
                out[there] = _update(data, reduction)(out[there], update[(*at, *rest)])

    return _written(data, indices, updates, body, "scatter_nd")


def _update(data: te.Tensor, reduction: str) -> Update:
    return (_OF_BOOLS if str(data.dtype) == "bool" else UPDATES)[reduction]


def _written(
    data: te.Tensor,
    indices: te.Tensor,
    updates: te.Tensor,
    body: Callable[[Any, Any, Any, Any], None],
    name: str,
) -> te.Tensor:
    """A copy of the data, to which `body` then writes in order."""

    def kernel(source: Any, index: Any, update: Any, out: Any) -> None:
        with _everywhere(data.shape) as at:
            out[tuple(at)] = source[tuple(at)]
        body(source, index, update, out)

    made = [(data.shape, str(data.dtype))]
    return computed(name, [data, indices, updates], made, kernel)


@contextmanager
def _everywhere(shape: Sequence[Any]) -> Iterator[list[Any]]:
    """A loop over each axis."""
    with ExitStack() as loops:
        yield [loops.enter_context(T.serial(0, size)) for size in shape]
