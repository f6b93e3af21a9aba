"""com.microsoft::DynamicQuantizeLSTM."""

from __future__ import annotations

from collections.abc import Hashable

from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised_lstm import QuantisedLayer
from ..common.recurrent import directions_of


class DynamicQuantizeLSTM(Composite):
    """`QuantisedLayer`."""

    name = "DynamicQuantizeLSTM"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        directions: Hashable = (EXACTLY, directions_of(attrs))
        weights: Labels = [[directions, "size", None], [directions, "hidden", None]]
        data: Labels = [["steps", "batch", "size"]]
        labels: Labels = [*data, *weights, [directions, None], ["batch"]]
        labels += [[directions, "batch", "hidden"]] * 2
        return [*labels, *([] for _ in shapes)][: len(shapes)]

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return QuantisedLayer().convert(ctx, inputs, attrs)
