"""com.microsoft::DynamicQuantizeLSTM."""

from __future__ import annotations

from . import Attrs, Context, Inputs, Result
from ._composite import Composite
from ._quantised_lstm import QuantisedLayer


class DynamicQuantizeLSTM(Composite):
    """`QuantisedLayer`."""

    name = "DynamicQuantizeLSTM"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return QuantisedLayer().convert(ctx, inputs, attrs)
