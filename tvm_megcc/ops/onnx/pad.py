"""Pad: widths as attributes (opset 2), operands (11), with axes (18); four modes."""

from __future__ import annotations

from tvm import relax

from ...dims import Size, compare, is_static, maximum, minimum
from ...shapes.axes import normal_axes
from ...shapes.known_elements import elements, picked
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.operands import scalar
from ..common.pad_data import padded_by_data, padded_by_sizes, spread
from ..common.slices import padded, sliced
from ..common.stored import held

_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


class Pad(OnnxOp):
    """``nn.pad``, after a ``strided_slice`` where widths are negative.

    Widths that depend on the shapes, or a fill value that is computed at run time, make a
    ``concat`` with blocks of the fill value; widths that are computed at run time a gather, and so
    do those that depend on the shapes in the other modes.
    """

    moves = (0, 2)
    single = {2: "constant_value"}

    def only_moves(self, attrs: Attrs) -> bool:
        return "value" not in attrs  # opset 2: a number besides the elements

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        mode = attrs.get("mode", "constant")
        if mode not in _MODES:
            raise ctx.unsupported(f"mode '{mode}'", f"use one of {', '.join(_MODES)}")
        rank, dtype = inputs.rank(0), expr_dtype(inputs[0])
        value = _value(inputs, attrs, mode)
        if inputs.is_read(1) or inputs.is_computed(3):
            return _by_data(ctx, inputs, mode, value)
        before, after = _widths(ctx, inputs, attrs, rank)
        if mode == "constant":
            for axis, size in enumerate(inputs.shape(0)):
                before[axis], after[axis] = _within(size, before[axis], after[axis])
        data = _cropped(ctx, inputs[0], before, after)
        before, after = ([maximum(v, 0) for v in widths] for widths in (before, after))
        width = [v for pair in zip(before, after, strict=True) for v in pair]
        if all(w == 0 for w in width):
            return data
        for axis in range(rank):
            if mode != "constant" and (before[axis], after[axis]) != (0, 0):
                # Of nothing there is nothing to repeat.
                data = ctx.at_least(data, axis, minimum(before[axis] + after[axis], 1))
        if mode != "constant" and not is_static(width):
            return padded_by_sizes(ctx, data, before, after, mode)
        # nn.pad holds its fill value in f64.
        exact = value is not None and abs(value) <= 1 << 53 or mode != "constant"
        if not is_static(width) or value is None or not ("float" in dtype or exact):
            fill = scalar(ctx, inputs, 2) if value is None else ctx.const(value, dtype)
            return padded(ctx, data, before, after, fill)
        if dtype == "bool":
            # A mask is padded as bytes: nn.pad has no fill value of type bool.
            wide = relax.op.nn.pad(relax.op.astype(data, "uint8"), width, _MODES[mode], int(value))
            return relax.op.astype(wide, "bool")
        fill = value if "float" in dtype else int(value)
        return relax.op.nn.pad(data, width, _MODES[mode], fill)


def _value(inputs: Inputs, attrs: Attrs, mode: str) -> int | float | None:
    """The fill value, None where it is computed at run time; an int keeps all of its digits.

    One of a storage type is its code, as the elements are.
    """
    if not inputs.has(2) or mode != "constant":
        return float(attrs.get("value", 0.0))
    known = inputs.known(2)
    if known is None:
        return None
    value: int | float = held(known).reshape(-1)[0].item()
    return value


def _by_data(ctx: Context, inputs: Inputs, mode: str, value: float | None) -> relax.Expr:
    """Widths, or axes, that are computed at run time."""
    rank, dtype = inputs.rank(0), expr_dtype(inputs[0])
    widths = ctx.emit(relax.op.astype(inputs[1], "int64"))
    axes = list(range(rank))
    if inputs.is_computed(3):
        (count,) = inputs.static_shape(3)
        widths = spread(ctx, _two_each(ctx, widths, count), inputs, 3, rank)
    elif inputs.has(3):
        axes = normal_axes(inputs.need_ints(3, "axes"), rank)
    widths = _two_each(ctx, widths, len(axes))
    known = elements(ctx, widths)
    kept = [k for k in range(len(axes)) if (known[k], known[k + len(axes)]) != (0, 0)]
    if not kept:
        return inputs[0]
    widths = picked(ctx, widths, [*kept, *(k + len(axes) for k in kept)])
    axes = [axes[k] for k in kept]
    fill = inputs[2] if value is None else ctx.const([value], dtype)
    return padded_by_data(ctx, inputs[0], widths, axes, mode, ctx.reshape(fill, [1]))


def _two_each(ctx: Context, widths: relax.Expr, axes: int) -> relax.Expr:
    """Widths, of which there have to be two for each axis."""
    (count,) = ctx.shape(widths)
    if isinstance(count, int):
        _count(ctx, count, axes)
    return ctx.cast(widths, [2 * axes])


def _count(ctx: Context, widths: int, axes: int) -> None:
    if widths != 2 * axes:
        raise ctx.ill_typed(f"there are {widths} widths for {axes} axes, which need two each")


def _widths(ctx: Context, inputs: Inputs, attrs: Attrs, rank: int) -> tuple[list[Size], list[Size]]:
    if inputs.has(1) or not ("pads" in attrs or "paddings" in attrs):
        flat = inputs.need_ints(1, "its widths")
    else:
        flat = attrs["pads"] if "pads" in attrs else attrs["paddings"]
    axes = list(range(rank))
    if inputs.has(3):
        axes = normal_axes(inputs.need_ints(3, "axes"), rank)
    _count(ctx, len(flat), len(axes))
    before: list[Size] = [0] * rank
    after: list[Size] = [0] * rank
    for position, axis in enumerate(axes):
        before[axis], after[axis] = flat[position], flat[position + len(axes)]
    return before, after


def _within(size: Size, before: Size, after: Size) -> tuple[Size, Size]:
    """Widths of one axis; a crop longer than the axis shortens the fill at its other end."""
    if not isinstance(before, int) or not isinstance(after, int) or before * after >= 0:
        return before, after
    beyond = maximum(-min(before, after) - size, 0)
    return (before + beyond, after - beyond) if before < 0 else (before - beyond, after + beyond)


def _cropped(ctx: Context, data: relax.Expr, before: list[Size], after: list[Size]) -> relax.Expr:
    parts: list[tuple[int, Size, Size, int]] = []
    for axis, size in enumerate(ctx.shape(data)):
        first, last = maximum(-before[axis], 0), maximum(-after[axis], 0)
        if compare("lt", size, first + last) == 1:
            raise ctx.ill_typed(f"crops {first + last} elements of dim {axis}, which is {size}")
        if (first, last) != (0, 0):
            parts.append((axis, first, size - last, 1))
    return sliced(ctx, data, parts)
