"""NonMaxSuppression."""

from __future__ import annotations

from tvm import relax

from ...dims import Size, compare, minimum, product
from ...shapes.constraints import Labels, Shape
from ...shapes.read_from_data import sizes_from
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.suppression import Suppression

#: More boxes than this are no limit.
_MANY = 2**31 - 1


class NonMaxSuppression(OnnxOp):
    """The boxes of each class sorted by their scores, then a kernel of our own that selects.

    It fills a matrix for all that there may be; the result is its first rows.
    """

    name = "NonMaxSuppression"
    slow = True
    single = {2: "max_output_boxes_per_class", 3: "iou_threshold", 4: "score_threshold"}

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [["batch", "box"], ["batch", None, "box"], *([] for _ in shapes[2:])]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batches, classes, boxes = inputs.shape(1)
        given = inputs.shape(0)
        pairs = zip(given, (batches, boxes, 4), strict=True)
        if any(compare("eq", a, b) == 0 for a, b in pairs):
            raise ctx.ill_typed(f"boxes {list(given)} with scores {list(inputs.shape(1))}")
        corners = ctx.limited(inputs[0], 2, 4)
        known = 0 if not inputs.has(2) else inputs.known(2)
        each: Size = boxes
        if known is not None:
            limit = max(int(known if isinstance(known, int) else known.reshape(-1)[0]), 0)
            each = minimum(min(limit, _MANY), boxes)
        capacity = product([batches, classes, each])
        if capacity == 0:
            return relax.op.zeros((0, 3), "int64")
        order = relax.op.argsort(inputs[1], axis=-1, descending=True, dtype="int32")
        kernel = Suppression(bool(attrs.get("center_point_box")), inputs.has(4))
        found = ctx.builder.emit_te(
            kernel.rows,
            corners,
            inputs[1],
            ctx.emit(order),
            self._number(ctx, inputs, 2, "int64"),
            self._number(ctx, inputs, 3, "float32"),
            self._number(ctx, inputs, 4, "float32"),
            ctx.prim(capacity),
        )
        rows = ctx.emit(relax.TupleGetItem(found, 0))
        counts = ctx.emit(relax.TupleGetItem(found, 1))
        (count,) = sizes_from(ctx, counts, ["rows"], [capacity])
        return relax.op.strided_slice(rows, [0], [0], [ctx.prim(count)], assume_inbound=True)

    def _number(self, ctx: Context, inputs: Inputs, index: int, dtype: str) -> relax.Expr:
        """A limit, of one element; 0 where the model leaves it out."""
        if not inputs.has(index):
            return ctx.const([0], dtype)
        return ctx.emit(relax.op.reshape(inputs[index], [1]))
