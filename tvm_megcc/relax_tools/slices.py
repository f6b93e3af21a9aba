"""First element and step of a ``relax.strided_slice`` along each axis, clamped to the tensor.

Example
-------
>>> slice_of(R.strided_slice(x, axes=[0], begin=[-2], end=[9]), (5, 3), {})  # doctest: +SKIP
Slice(begins=(3, 0), steps=(1, 1))
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import relax

from tvm_megcc import dims
from tvm_megcc.dims import Size, Undecided
from tvm_megcc.relax_tools.shape_exprs import Symbols, size_of


@dataclass(frozen=True, slots=True)
class Slice:
    """First element and step of every axis."""

    begins: tuple[Size, ...]
    steps: tuple[int, ...]


def slice_of(call: relax.Call, shape: tuple[Size, ...], symbols: Symbols) -> Slice | None:
    """Begins and steps of a slice of a tensor of this shape.

    None where a limit is a tensor, a step is symbolic, or only a run decides whether a begin counts
    from the end.
    """
    lists = [_sizes(a, symbols) for a in call.args[1:5]]
    if len(lists) < 3 or any(found is None for found in lists):
        return None
    axes, starts = lists[0], lists[1]
    assert axes is not None and starts is not None
    strides = lists[3] if len(lists) > 3 and lists[3] else [1] * len(axes)
    begins: list[Size] = [0] * len(shape)
    steps = [1] * len(shape)
    try:
        for axis, start, step in zip(axes, starts, strides, strict=True):
            if not isinstance(axis, int) or not isinstance(step, int):
                return None
            axis %= len(shape)
            inbound = call.attrs.assume_inbound
            begins[axis] = start if inbound else _first(start, shape[axis], step)
            steps[axis] = step
    except Undecided:
        return None
    return Slice(tuple(begins), tuple(steps))


def _first(start: Size, dim: Size, step: int) -> Size:
    """First element of a slice from `start`, which may count from the end."""
    if isinstance(start, int):
        start = start + dim if start < 0 else start
    elif dims.bounds(start)[0] < 0:
        raise Undecided(f"whether {start} counts from the end depends on the shapes")
    return dims.minimum(dims.maximum(start, 0), dim - 1 if step < 0 else dim)


def _sizes(expr: relax.Expr, symbols: Symbols) -> list[Size] | None:
    if not isinstance(expr, relax.Tuple):
        return None
    found = [size_of(f if not hasattr(f, "value") else f.value, symbols) for f in expr.fields]
    return None if None in found else found  # type: ignore[return-value]
