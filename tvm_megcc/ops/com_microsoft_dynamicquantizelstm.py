"""com.microsoft::DynamicQuantizeLSTM."""

from __future__ import annotations

from . import Attrs, Context, Inputs, Result
from ._agree import Labels, Shape
from ._composite import Composite
from ._quantised_lstm import QuantisedLayer


class DynamicQuantizeLSTM(Composite):
    """`QuantisedLayer`."""

    name = "DynamicQuantizeLSTM"
    domain = "com.microsoft"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [["steps", "batch", "size"], [None, "size"], [], [], ["batch"]]
        labels += [[None, "batch", "hidden"]] * 2
        return [*labels, *([] for _ in shapes)][: len(shapes)]

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return QuantisedLayer().convert(ctx, inputs, attrs)
