"""NonMaxSuppression."""

from __future__ import annotations

from tvm import relax, topi

from ..dims import is_static
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._data_sizes import sizes_from


class NonMaxSuppression(OnnxOp):
    """TVM's selection into a buffer for all boxes, and its first rows: as many as there are."""

    name = "NonMaxSuppression"
    data_dependent = True
    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        scores = inputs.shape(1)
        boxes = inputs[0]
        if not is_static(scores):
            raise ctx.unsupported(
                f"its scores have open dims {[str(d) for d in scores]}",
                "fix the model's dims with --input-shapes",
            )
        limit = self._limit(ctx, inputs, int(scores[2]))  # type: ignore[call-overload]
        if limit == 0 or 0 in scores:
            return relax.op.zeros((0, 3), "int64")
        if attrs.get("center_point_box"):
            boxes = self._corners(ctx, boxes)
        iou, least = (self._number(ctx, inputs, k) for k in (3, 4))
        found = ctx.builder.emit_te(
            topi.vision.all_class_non_max_suppression, boxes, inputs[1], limit, iou, least, "onnx"
        )
        rows = ctx.emit(relax.TupleGetItem(found, 0))
        counts = ctx.emit(relax.op.reshape(relax.TupleGetItem(found, 1), [1]))
        (count,) = sizes_from(ctx, counts, ["rows"], [ctx.shape(rows)[0]])
        return relax.op.strided_slice(rows, [0], [0], [ctx.prim(count)], assume_inbound=True)

    def _limit(self, ctx: Context, inputs: Inputs, boxes: int) -> int:
        if not inputs.has(2):
            return 0
        return min(int(inputs.need(2, "max_output_boxes_per_class").reshape(-1)[0]), boxes)

    def _number(self, ctx: Context, inputs: Inputs, index: int) -> relax.Expr:
        """A threshold of rank 0; 0 (or no limit) where the model leaves it out."""
        if not inputs.has(index):
            return ctx.const(0.0 if index == 3 else -3.4e38, "float32")
        return ctx.emit(relax.op.reshape(inputs[index], []))

    def _corners(self, ctx: Context, boxes: relax.Expr) -> relax.Expr:
        """``x, y, width, height`` of the centre -> ``y1, x1, y2, x2``."""
        x, y, w, h = (ctx.emit(relax.op.strided_slice(boxes, [2], [k], [k + 1])) for k in range(4))
        half = ctx.const(0.5, "float32")
        dx, dy = (ctx.emit(relax.op.multiply(d, half)) for d in (w, h))
        sides = [relax.op.subtract(y, dy), relax.op.subtract(x, dx),
                 relax.op.add(y, dy), relax.op.add(x, dx)]  # fmt: skip
        return ctx.emit(relax.op.concat([ctx.emit(s) for s in sides], axis=2))
