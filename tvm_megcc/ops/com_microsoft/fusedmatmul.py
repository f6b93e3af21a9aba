"""com.microsoft::FusedMatMul."""

from __future__ import annotations

from tvm import relax

from ...dims import Size
from ...shapes.constraints import Labels, Shape, matmul
from .. import Attrs, Context, Inputs, OnnxOp, Result


class FusedMatMul(OnnxOp):
    """``alpha * A @ B`` of operands whose last or leading dims may be transposed before."""

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        orders = [_order(shape, attrs, side) for shape, side in zip(shapes, "AB", strict=False)]
        turned = [
            None if shape is None else tuple(shape[k] for k in order)
            for shape, order in zip(shapes, orders, strict=True)
        ]
        labels = matmul(0, 1)(turned, attrs)
        return [
            [row[order.index(k)] if row else None for k in range(len(order))]
            for row, order in zip(labels, orders, strict=True)
        ]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        operands = [_turned(ctx, inputs, k, _order(inputs.shape(k), attrs, side))
                    for k, side in enumerate("AB")]  # fmt: skip
        result = ctx.emit(relax.op.matmul(*operands))
        if attrs.get("alpha", 1.0) == 1.0:
            return result
        return relax.op.multiply(result, ctx.const(attrs["alpha"], inputs.dtype(0)))


def _order(shape: tuple[Size, ...] | None, attrs: Attrs, side: str) -> list[int]:
    """The order of an operand's axes in which they are multiplied."""
    order = list(range(len(shape or ())))
    if attrs.get(f"transBatch{side}", 0) and len(order) > 2:
        order = [*order[1:-1], 0, order[-1]]
    if attrs.get(f"trans{side}", 0) and len(order) > 1:
        order[-2:] = order[:-3:-1]
    return order


def _turned(ctx: Context, inputs: Inputs, index: int, order: list[int]) -> relax.Expr:
    if order == sorted(order):
        return inputs[index]
    known = inputs.known(index)
    if known is not None:
        return ctx.const(known.transpose(order), inputs.dtype(index))
    return ctx.emit(relax.op.permute_dims(inputs[index], order))
