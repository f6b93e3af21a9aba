"""Shape and Size: known as soon as the operand's dims are."""

from __future__ import annotations

from ...dims import product
from ...shapes.arithmetic import dims_array
from ...shapes.sizes import size_array
from ..common.rows import row
from ..common.stock import OfShape

# fmt: off
OPERATORS = [
    row("Shape", "The dims from ``start`` to ``end``", OfShape, of_shape=lambda shape, attrs:
        dims_array(shape[attrs.get("start", 0) : attrs.get("end", len(shape))])),
    row("Size", "The number of elements", OfShape,
        of_shape=lambda shape, attrs: size_array([product(shape)], (), "int64")),
]
# fmt: on
