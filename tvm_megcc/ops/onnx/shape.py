"""Shape and Size: known as soon as the operand's dims are."""

from __future__ import annotations

from ..common.arithmetic import dims_array
from ..common.context import volume
from ..common.of_shape import OfShape
from ..common.rows import row
from ..common.sizes import size_array

# fmt: off
OPERATORS = [
    row("Shape", "The dims from ``start`` to ``end``", OfShape, of_shape=lambda shape, attrs:
        dims_array(shape[attrs.get("start", 0) : attrs.get("end", len(shape))])),
    row("Size", "The number of elements", OfShape,
        of_shape=lambda shape, attrs: size_array([volume(shape)], (), "int64")),
]
# fmt: on
