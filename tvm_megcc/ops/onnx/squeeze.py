"""Squeeze and Unsqueeze: axes as attribute or operand (opset 13)."""

from __future__ import annotations

import warnings

from tvm import relax

from ...dims import Dim, Size, compare, is_static
from ...shapes.axes import normal_axes
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.axes_data import dropped, widened


class Squeeze(OnnxOp):
    """``squeeze``; a reshape to the dims that are left, where the axes are computed at run time."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        if inputs.is_computed(1) and inputs.shape(1) != (0,):
            return dropped(ctx, inputs[0], inputs[1], shape, ones=True)
        axes = (inputs.ints(1) or []) if inputs.has(1) else attrs.get("axes")
        if axes is None:
            axes = [i for i, d in enumerate(shape) if isinstance(d, int) and d == 1]
            maybe = [
                i for i, d in enumerate(shape) if isinstance(d, Dim) and compare("eq", d, 1) != 0
            ]
            rank = ctx.ranks[0] if ctx.ranks else None
            if rank is None or not maybe or len(shape) - len(axes) - len(maybe) != rank:
                return _squeezed(_are_larger(ctx, inputs[0], [shape[i] for i in maybe]), axes)
            axes = sorted(axes + maybe)  # with this rank all of them are 1
        axes = normal_axes(axes, len(shape))
        if wrong := [k for k in axes if isinstance(shape[k], int) and shape[k] != 1]:
            raise ctx.ill_typed(f"drops dim {wrong[0]}, which is {shape[wrong[0]]}")
        # A symbolic dim that is squeezed has to be 1.
        ones = [1 if k in axes and d != 1 else d for k, d in enumerate(shape)]
        data = inputs[0] if is_static(shape) else ctx.cast(inputs[0], ones)
        return _squeezed(data, axes)


def _squeezed(data: relax.Expr, axes: list[int]) -> relax.Expr:
    return relax.op.squeeze(data, axes) if axes else data


def _are_larger(ctx: Context, data: relax.Expr, dims: list[Size]) -> relax.Expr:
    """The tensor; a run in which one of these dims is 1 ends: the rank would change."""
    if not dims:
        return data
    warnings.warn(
        f"{ctx.label}: a run with {' or '.join(map(str, dims))} of 1 ends with an error (without"
        " axes that dim is dropped, too, and the rank another one; give it axes or other"
        " --input-shapes)",
        stacklevel=2,
    )
    differs = relax.op.not_equal(ctx.sizes(dims, "int64"), ctx.const(1, "int64"))
    least = relax.op.min(relax.op.astype(differs, "int64"), axis=[0], keepdims=True)
    return ctx.checked(data, ctx.emit(relax.op.greater(least, ctx.const(0, "int64"))))


class Unsqueeze(OnnxOp):
    """``expand_dims``; a reshape where the axes are computed at run time."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if inputs.is_computed(1) and inputs.shape(1) != (0,):
            inputs.need_few(1)
            return ctx.reshape(inputs[0], widened(ctx, inputs[1], inputs.shape(0)))
        axes = (inputs.ints(1) or []) if inputs.has(1) else attrs["axes"]
        rank = inputs.rank(0) + len(axes)
        axes = sorted(normal_axes(axes, rank))
        return relax.op.expand_dims(inputs[0], axes) if axes else inputs[0]


OPERATORS = [Squeeze, Unsqueeze]
