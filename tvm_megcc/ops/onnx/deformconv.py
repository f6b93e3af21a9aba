"""DeformConv (opset 19)."""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.operands import with_bias
from ..common.window import Window


class DeformConv(OnnxOp):
    """Elements sampled where the offsets say, and their product with the weight as a matrix.

    Between elements it samples bilinearly; beyond the edge there are zeros.
    """

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, channels, *dims = inputs.shape(0)
        outputs, fan_in, *kernel = inputs.static_shape(1)
        if len(dims) != 2 or len(kernel) != 2:
            raise ctx.unsupported(f"{len(dims)} spatial dims", "use two")
        group, offset_group = int(attrs.get("group", 1)), int(attrs.get("offset_group", 1))
        (channels,) = ctx.static([channels])
        if channels != fan_in * group or outputs % group or channels % offset_group:
            raise ctx.ill_typed(
                f"{channels} channels and a weight of [{outputs}, {fan_in}] with group={group} "
                f"and offset_group={offset_group}"
            )
        pads = attrs.get("pads", [0, 0, 0, 0])
        win = Window(
            kernel, attrs.get("strides", [1, 1]), attrs.get("dilations", [1, 1]), pads[:2], pads[2:]
        )
        taps = kernel[0] * kernel[1]
        places = [
            (dims[i] + pads[i] + pads[2 + i] - win.reach(i)) // win.strides[i] + 1 for i in (0, 1)
        ]
        offsets = ctx.cast(inputs[2], [batch, offset_group * taps * 2, *places])
        operands = [inputs[0], offsets]
        if inputs.has(4):
            operands.append(ctx.cast(inputs[4], [batch, offset_group * taps, *places]))
        columns = ctx.emit(
            ctx.builder.call_te(
                lambda *v: _sampled(v, win, channels // offset_group),
                *operands,
                primfunc_name_hint="sampled",
            )
        )
        columns = ctx.reshape(columns, [batch, group, fan_in * taps, places[0] * places[1]])
        weight = ctx.reshape(inputs[1], [1, group, outputs // group, fan_in * taps])
        result = ctx.emit(relax.op.matmul(weight, columns))
        result = ctx.reshape(result, [batch, outputs, *places])
        if not inputs.has(3):
            return result
        return with_bias(ctx, inputs, 3, result)


def _sampled(operands: tuple[te.Tensor, ...], win: Window, share: int) -> te.Tensor:
    """``[N, C, taps, places...]``; `share` channels have the same offsets and mask."""
    x, offsets = operands[:2]
    height, width = x.shape[2:]
    taps = win.kernel[0] * win.kernel[1]
    dtype = str(x.dtype.dtype)

    def place(at: Any, axis: int) -> Any:
        """Where along an axis the element stands."""
        n, c, tap, *out = at
        step = tirx.floordiv(tap, win.kernel[1]) if axis == 0 else tirx.floormod(tap, win.kernel[1])
        regular = out[axis] * win.strides[axis] + step * win.dilations[axis] - win.before[axis]
        number = (tirx.floordiv(c, share) * taps + tap) * 2 + axis
        return tirx.Cast(dtype, regular) + offsets[n, number, out[0], out[1]]

    def places(axis: int) -> te.Tensor:
        shape = [x.shape[0], tirx.floordiv(x.shape[1], share), taps, *offsets.shape[2:]]

        def of_group(n: Any, g: Any, *rest: Any) -> Any:
            return place((n, g * share, *rest), axis)

        return te.compute(shape, of_group, name=f"place{axis}")

    positions = [places(axis) for axis in (0, 1)]

    def element(*at: Any) -> Any:
        n, c, tap, *out = at
        total: Any = tirx.const(0, dtype)
        where = [p[n, tirx.floordiv(c, share), tap, out[0], out[1]] for p in positions]
        low = [tirx.floor(p) for p in where]
        for dy in (0, 1):
            for dx in (0, 1):
                y, z = (tirx.Cast("int64", v) + d for v, d in zip(low, (dy, dx), strict=True))
                parts = [
                    (p - v) if d else (tirx.const(1, dtype) - (p - v))
                    for p, v, d in zip(where, low, (dy, dx), strict=True)
                ]
                inside = tirx.all(y >= 0, y < height, z >= 0, z < width)
                corner = x[n, c, y, z] * parts[0] * parts[1]
                total = total + tirx.if_then_else(inside, corner, tirx.const(0, dtype))
        if len(operands) > 2:
            total = total * operands[2][n, tirx.floordiv(c, share) * taps + tap, out[0], out[1]]
        return total

    return te.compute([*x.shape[:2], taps, *offsets.shape[2:]], element, name="sampled")
