"""Pad: widths as attributes (opset 2), operands (11), with axes (18); four modes."""

from __future__ import annotations

from typing import Any

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._shapes import normal_axis

_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


class Pad(OnnxOp):
    """``nn.pad``, after a ``strided_slice`` where widths are negative."""

    name = "Pad"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        mode = attrs.get("mode", "constant")
        if mode not in _MODES:
            raise ctx.unsupported(f"mode '{mode}'", f"use one of {', '.join(_MODES)}")
        rank = inputs.rank(0)
        before, after = _widths(inputs, attrs, rank)
        data = _cropped(ctx, inputs[0], before, after)
        width = [max(0, v) for pair in zip(before, after, strict=True) for v in pair]
        if not any(width):
            return data
        value = attrs.get("value", 0.0)
        if inputs.has(2) and mode == "constant":
            value = inputs.need(2, "its fill value").reshape(-1)[0].item()
        if inputs.dtype(0) == "bool":
            # A mask is padded as bytes: nn.pad has no fill value of type bool.
            wide = relax.op.nn.pad(relax.op.astype(data, "uint8"), width, _MODES[mode], int(value))
            return relax.op.astype(wide, "bool")
        fill = value if "float" in inputs.dtype(0) else int(value)
        return relax.op.nn.pad(data, width, _MODES[mode], fill)


def _widths(inputs: Inputs, attrs: Attrs, rank: int) -> tuple[list[Any], list[Any]]:
    if inputs.has(1) or not ("pads" in attrs or "paddings" in attrs):
        flat = inputs.need_ints(1, "its widths")
    else:
        flat = attrs.get("pads", attrs.get("paddings"))
    axes = list(range(rank))
    if inputs.has(3):
        axes = [normal_axis(axis, rank) for axis in inputs.need_ints(3, "axes")]
    before, after = [0] * rank, [0] * rank
    for position, axis in enumerate(axes):
        before[axis], after[axis] = flat[position], flat[position + len(axes)]
    return before, after


def _cropped(ctx: Context, data: relax.Expr, before: list[Any], after: list[Any]) -> relax.Expr:
    axes = [a for a in range(len(before)) if before[a] < 0 or after[a] < 0]
    if not axes:
        return data
    shape = ctx.static_shape(data)
    starts = [max(0, -before[a]) for a in axes]
    ends = [shape[a] - max(0, -after[a]) for a in axes]
    return ctx.emit(relax.op.strided_slice(data, axes, starts, ends))
