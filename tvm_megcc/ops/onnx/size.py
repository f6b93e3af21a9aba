"""Size: known as soon as the operand's dims are."""

from __future__ import annotations

from ...dims import product
from ...shapes.arithmetic import Attrs, Known
from ...shapes.constraints import Shape
from ...shapes.sizes import size_array
from ..common.stock import OfShape


class Size(OfShape):
    """The number of elements."""

    name = "Size"

    def of_shape(self, shape: Shape, attrs: Attrs) -> Known:
        return size_array([product(shape)], (), "int64")
