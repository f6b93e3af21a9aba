"""Mod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dims
from . import Attrs
from ._agree import broadcast
from ._arithmetic import Known, elementwise, size
from ._sizes import Item, NotShapes, truncdiv
from ._stock import StockOp


class Mod(StockOp):
    """The remainder, with the sign of the divisor, or with ``fmod`` of the dividend."""

    name = "Mod"
    labels = staticmethod(broadcast())

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        def remainder(a: Item, b: Item) -> Item:
            a, b = size(a), size(b)
            if attrs.get("fmod", 0):
                return a - b * truncdiv(a, b)
            if dims.bounds(b)[0] < 0 or b == 0:
                raise NotShapes
            return dims.floormod(a, b)

        return elementwise(remainder)(operands, attrs)
