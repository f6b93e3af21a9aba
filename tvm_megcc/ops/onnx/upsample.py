"""Upsample (opset 7 with the attribute ``scales``, 9 with an operand)."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.resample import Options
from ..common.resize import resize
from .resize import plan_of_scales, scaled


class Upsample(OnnxOp):
    """As Resize with asymmetric coordinates."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        mode: str = attrs.get("mode", "nearest")
        mode = "linear" if mode == "bilinear" else mode
        if "scales" in attrs:
            plan = scaled(ctx, inputs, list(attrs["scales"]))
        else:
            plan = plan_of_scales(ctx, inputs, 1)
        return resize(ctx, inputs, plan, Options(mode, "asymmetric", "simple"))
