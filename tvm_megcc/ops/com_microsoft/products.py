"""Matrix products of integers, with f32 or quantised results."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from ...shapes.constraints import BROADCAST, EXACTLY, WHOLE, Labels, Shape, matmul, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.operands import reshaped
from ..common.quantised import by_its_range, centred, requantise, scaled, shaped


class DynamicQuantizeMatMul(Composite):
    """A, quantised by its own range, times B in i32, and f32 again.

    Operands: A (f32), B, scale and zero point of B, and a bias.
    """

    alike = ((1, 3),)
    labels = staticmethod(numbered(matmul(0, 1), (1, -1, (2, 3))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        lhs, scale = by_its_range(ctx, inputs[0])
        total = ctx.emit(relax.op.matmul(lhs, centred(ctx, inputs, 1, 3, [1, -1])))
        factor = ctx.emit(relax.op.multiply(scale, shaped(ctx, inputs, 2, [1, -1])))
        return scaled(ctx, total, factor, inputs, 4)


class MatMulIntegerToFloat(Composite):
    """An i32 ``matmul`` as f32.

    Operands: A, B, their scales, their zero points, and a bias.
    """

    alike = ((0, 4), (1, 5))
    labels = staticmethod(numbered(matmul(0, 1), (0, -2, (2, 4)), (1, -1, (3, 5))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        lhs, rhs = centred(ctx, inputs, 0, 4, [-1, 1]), centred(ctx, inputs, 1, 5, [1, -1])
        total = ctx.emit(relax.op.matmul(lhs, rhs))
        scales = shaped(ctx, inputs, 2, [-1, 1]), shaped(ctx, inputs, 3, [1, -1])
        return scaled(ctx, total, ctx.emit(relax.op.multiply(*scales)), inputs, 6)


class QGemm(Composite):
    """An i32 ``matmul`` plus C, times the scales: requantised, or f32 without a zero point.

    A scale of the result divides by it, also without a zero point, as in ONNX Runtime.

    Operands: A, its scale and zero point; B, its own; C; scale and zero point of the result.
    """

    alike = ((0, 2), (3, 5))

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        rows, columns = (WHOLE, "m"), (WHOLE, "n")
        labels: Labels = [[] for _ in shapes]
        last: list[Hashable]
        labels[0] = ["k", rows] if attrs.get("transA", 0) else [rows, "k"]
        labels[3] = [columns, "k"] if attrs.get("transB", 0) else ["k", columns]
        for k in (4, 5):
            last = [(EXACTLY, 1)] * (len(shapes[k] or ()) - 1) + [(BROADCAST, "n")]
            labels[k] = last if shapes[k] else []
        if len(shapes) > 6:
            last = [(BROADCAST, "m"), (BROADCAST, "n")]
            labels[6] = last[2 - len(shapes[6] or ()) :]
        return labels

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        turned = attrs.get("transB", 0)
        lhs = centred(ctx, inputs, 0, 2, [])
        rhs = centred(ctx, inputs, 3, 5, [-1, 1] if turned else [1, -1])
        lhs = ctx.emit(relax.op.permute_dims(lhs)) if attrs.get("transA", 0) else lhs
        rhs = ctx.emit(relax.op.permute_dims(rhs)) if turned else rhs
        total = ctx.emit(relax.op.matmul(lhs, rhs))
        if inputs.has(6):
            total = ctx.emit(relax.op.add(total, inputs[6]))
        scale = reshaped(ctx, inputs, 1, [])
        if attrs.get("alpha", 1.0) != 1.0:
            scale = ctx.emit(relax.op.multiply(ctx.const(attrs["alpha"], "float32"), scale))
        scale = ctx.emit(relax.op.multiply(scale, shaped(ctx, inputs, 4, [1, -1])))
        if inputs.has(7):
            scale = ctx.emit(relax.op.divide(scale, reshaped(ctx, inputs, 7, [])))
        if not inputs.has(8):
            return relax.op.multiply(relax.op.astype(total, "float32"), scale)
        return requantise(ctx, total, scale, inputs, 8, inputs.dtype(8))


OPERATORS = [DynamicQuantizeMatMul, MatMulIntegerToFloat, QGemm]
