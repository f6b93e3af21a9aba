"""CenterCropPad (opset 18): the middle of the data, or the data in the middle of zeros."""

from __future__ import annotations

from typing import Any

from tvm import te, tirx

from ...dims import Size
from ...shapes.axes import normal_axes
from .. import Attrs, Context, Inputs, OnnxOp, Result


class CenterCropPad(OnnxOp):
    """Each named dim as long as wanted: half of what is too much or too little is at the start.

    ONNX's own function pads and slices; of open dims its sizes are maxima of maxima.
    """

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        have, wanted = inputs.shape(0), inputs.need_ints(1, "its shape", 0)
        axes = normal_axes(attrs.get("axes", range(len(have))), len(have))
        if len(axes) != len(wanted):
            raise ctx.ill_typed(f"{len(wanted)} sizes for the axes {axes} of {len(have)}")
        dims: list[Size] = list(have)
        for axis, size in zip(axes, wanted, strict=True):
            dims[axis] = size
        shape = ctx.prims(dims)

        def centred(data: te.Tensor) -> te.Tensor:
            def element(*at: Any) -> Any:
                place, inside = list(at), []
                for axis in axes:
                    # Rounded towards zero: crops and pads begin with the smaller half.
                    spare = tirx.Cast("int64", data.shape[axis] - shape[axis])
                    place[axis] = at[axis] + tirx.truncdiv(spare, tirx.const(2, "int64"))
                    inside += [place[axis] >= 0, place[axis] < data.shape[axis]]
                zero = tirx.const(0, data.dtype)
                return tirx.if_then_else(tirx.all(*inside), data[tuple(place)], zero)

            return te.compute(shape, element, name="centred")

        if not axes:
            return inputs[0]
        return ctx.builder.emit_te(centred, inputs[0])
