"""Shape: known as soon as the operand's dims are."""

from __future__ import annotations

from ...shapes.arithmetic import Attrs, Known, dims_array
from ...shapes.constraints import Shape as Dims
from ..common.stock import OfShape


class Shape(OfShape):
    """The dims from ``start`` to ``end``."""

    name = "Shape"

    def of_shape(self, shape: Dims, attrs: Attrs) -> Known:
        return dims_array(shape[attrs.get("start", 0) : attrs.get("end", len(shape))])
