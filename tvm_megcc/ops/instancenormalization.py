"""InstanceNormalization."""

from __future__ import annotations

from . import Attrs, Context, Inputs, Result
from ._agree import Labels, Shape
from ._defaults import EPSILON
from ._stock import StockOp


class InstanceNormalization(StockOp):
    """``instance_norm``, with a scale and a bias for each channel."""

    name = "InstanceNormalization"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [[None, "channels"], ["channels"], ["channels"]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if 0 in inputs.shape(0):  # TVM divides by the number of elements
            return inputs[0]
        return super().convert(ctx, inputs, {"epsilon": EPSILON, **attrs})
