"""com.microsoft::QLinearConcat."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import quantised, real


class QLinearConcat(Composite):
    """``concat`` of operands that are brought to the scale and zero point of the result.

    Operands: scale and zero point of the result, then each tensor with its own.
    """

    name = "QLinearConcat"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        def row(shape: Shape | None) -> list[Hashable]:
            rank = len(shape or ())
            return [None if k == attrs["axis"] % max(rank, 1) else k for k in range(rank)]

        return [row(s) if k % 3 == 2 else [] for k, s in enumerate(shapes)]

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(1)
        parts = [
            ctx.emit(quantised(ctx, real(ctx, inputs, k), inputs, 0, dtype))
            for k in range(2, len(inputs), 3)
        ]
        return relax.op.concat(parts, normal_axis(attrs["axis"], inputs.rank(2)))
