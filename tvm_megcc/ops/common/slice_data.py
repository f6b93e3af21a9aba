"""Slicing where starts, ends, axes or steps are computed at run time.

A small kernel turns them into a first element, a step and a count for each axis; the counts are
read, and one kernel then gathers along all axes. What ONNX clamps is clamped; steps of 0 and axes
that there are not, or that stand there twice, make counts of -1, which are refused when read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size, bounds, is_static
from ...relax_tools.tir_kernels import computed, local
from ...shapes.axes import normal_axes
from ...shapes.known_elements import offset_of
from ...shapes.read_from_data import sizes_from
from .context import Context
from .inputs import Inputs

Expr: TypeAlias = relax.Expr

#: No dim is as large, and sums of such do not leave int64.
_FAR = 1 << 40


def sliced_by_data(ctx: Context, inputs: Inputs) -> Expr:
    """Slice in its input form, with at least one operand that is no list of numbers.

    The number of starts may be dynamic, too: then, without axes, as many of the first axes are
    sliced.
    """
    shape = inputs.shape(0)
    count = _count(ctx, inputs)
    fixed = inputs.ints(3) if inputs.has(3) else None
    if isinstance(count, int) and not inputs.has(3):
        fixed = list(range(count))
    if fixed is not None and is_static(fixed):
        covered = normal_axes(fixed, len(shape))
        axes = ctx.const(list(range(len(fixed))), "int64")
    elif inputs.has(3):
        covered = list(range(len(shape)))
        axes = _list(ctx, inputs, 3, count)
    else:
        covered = list(range(int(min(len(shape), bounds(count)[1]))))
        axes = ctx.emit(relax.op.arange(0, ctx.prim(count), 1, "int64"))
    if inputs.has(4):
        steps = _list(ctx, inputs, 4, count)
    else:
        steps = ctx.emit(relax.op.full(ctx.prims([count]), ctx.const(1, "int64"), "int64"))
    starts, ends = (_list(ctx, inputs, k, count) for k in (1, 2))
    dims = ctx.sizes([shape[axis] for axis in covered], "int64")
    found = ctx.emit(ctx.builder.call_te(_limits, starts, ends, axes, steps, dims))
    first, step, length = (ctx.emit(relax.TupleGetItem(found, k)) for k in range(3))
    names = [f"dim{axis}" for axis in covered]
    most = _span(ctx, inputs) if len(covered) == 1 else None
    highs = [_least(shape[axis], most) for axis in covered]
    sizes = sizes_from(ctx, length, names, highs)
    return _gathered(ctx, inputs[0], covered, sizes, first, step)


def _count(ctx: Context, inputs: Inputs) -> Size:
    """The number of starts, ends, axes and steps, as an int if one operand has a static dim."""
    found: list[Size] = []
    for index in range(1, 5):
        if inputs.has(index):
            dims = inputs.shape(index)
            if len(dims) != 1:
                raise ctx.ill_typed(f"its operand {index} has {len(dims)} dims, not one")
            found.append(dims[0])
    return next((size for size in found if isinstance(size, int)), found[0])


def _list(ctx: Context, inputs: Inputs, index: int, count: Size) -> Expr:
    """An operand as ``int64[count]``; that it has so many elements is checked at run time."""
    wide = ctx.emit(relax.op.astype(inputs[index], "int64"))
    return wide if inputs.shape(index) == (count,) else ctx.match_cast(wide, [count])


def _span(ctx: Context, inputs: Inputs) -> int | None:
    """The most elements between a start and an end that is the start plus a constant, else None."""
    steps = inputs.ints(4) if inputs.has(4) else [1]
    if steps is None or len(steps) != 1 or not isinstance(steps[0], int) or steps[0] <= 0:
        return None
    start, end = (offset_of(ctx, inputs[index]) for index in (1, 2))
    if start is None or end is None or not start[0].same_as(end[0]):
        return None
    return max(0, -(-(end[1] - start[1]) // steps[0]))


def _least(dim: Size, most: int | None) -> int | None:
    known = [size for size in (dim, most) if isinstance(size, int)]
    return min(known, default=None)


def _gathered(
    ctx: Context, data: Expr, axes: Sequence[int], sizes: Sequence[Size], first: Expr, step: Expr
) -> Expr:
    shape: list[Any] = list(data.ty.shape.values)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = ctx.prim(size)

    def gather(x: te.Tensor, first: te.Tensor, step: te.Tensor) -> te.Tensor:
        def element(*at: Any) -> Any:
            place = list(at)
            for k, axis in enumerate(axes):
                place[axis] = first[k] + at[axis] * step[k]
            return x[tuple(place)]

        return te.compute(shape, element, name="slice")

    return ctx.builder.emit_te(gather, data, first, step)


def _limits(
    starts: te.Tensor, ends: te.Tensor, axes: te.Tensor, steps: te.Tensor, dims: te.Tensor
) -> list[te.Tensor]:
    """First element, step and count of each dim."""
    made = [(dims.shape, "int64")] * 3
    found: list[te.Tensor] = computed("limits", [starts, ends, axes, steps, dims], made, _kernel)
    return found


def _kernel(
    starts: Any, ends: Any, axes: Any, steps: Any, dims: Any, first: Any, step: Any, count: Any
) -> None:
    rank = int(dims.shape[0])
    zero, one = (tirx.const(v, "int64") for v in (0, 1))
    good, axis, limit, low, size = (local() for _ in range(5))
    good[0] = one
    for k in range(rank):
        first[k], step[k], count[k] = zero, one, tirx.const(-1, "int64")
    with T.serial(0, starts.shape[0]) as i:
        axis[0] = axes[i] + tirx.if_then_else(axes[i] < 0, tirx.const(rank, "int64"), zero)
        with T.If(tirx.any(axis[0] < 0, axis[0] >= rank, steps[i] == 0)):
            with T.Then():
                good[0] = zero
            with T.Else():
                with T.If(count[axis[0]] >= 0), T.Then():
                    good[0] = zero
                step[axis[0]] = _between(steps[i], -_FAR, _FAR)
                size[0] = dims[axis[0]]
                # Backwards, the last place is the last element, and the end may be before it.
                low[0] = tirx.if_then_else(step[axis[0]] < 0, one, zero)
                limit[0] = _from_front(starts[i], size[0])
                limit[0] = _between(limit[0], zero, size[0] - low[0])
                first[axis[0]] = limit[0]
                limit[0] = _from_front(ends[i], size[0])
                limit[0] = _between(limit[0], -low[0], size[0] - low[0])
                by = tirx.if_then_else(low[0] != 0, -step[axis[0]], step[axis[0]])
                limit[0] = tirx.if_then_else(
                    low[0] != 0, first[axis[0]] - limit[0], limit[0] - first[axis[0]]
                )
                limit[0] = tirx.min(tirx.max(limit[0], zero), size[0])
                count[axis[0]] = tirx.floordiv(limit[0] + by - one, by)
    for k in range(rank):
        with T.If(tirx.all(good[0] != 0, count[k] < 0)), T.Then():
            count[k] = dims[k]
        with T.If(good[0] == 0), T.Then():
            count[k] = tirx.const(-1, "int64")


def _from_front(limit: Any, size: Any) -> Any:
    near = _between(limit, -_FAR, _FAR)
    return near + tirx.if_then_else(near < 0, size, tirx.const(0, "int64"))


def _between(value: Any, low: Any, high: Any) -> Any:
    low, high = (tirx.const(v, "int64") if isinstance(v, int) else v for v in (low, high))
    return tirx.max(tirx.min(value, high), low)
