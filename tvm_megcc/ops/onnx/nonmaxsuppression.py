"""NonMaxSuppression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size, compare, minimum, product
from ...relax_tools.tir_kernels import computed, local
from ...shapes.constraints import Labels, Shape
from ...shapes.read_from_data import sizes_from
from .. import Attrs, Context, Inputs, OnnxOp, Result


@dataclass(frozen=True, slots=True)
class Suppression:
    """A kernel that selects boxes of a class, best first, that overlap no better one.

    Attributes
    ----------
    centred : bool
        Boxes are ``x, y, width, height`` of the centre, else two opposite corners ``y, x``.
    scored : bool
        Only scores above a limit count.
    """

    centred: bool
    scored: bool

    def rows(
        self,
        boxes: te.Tensor,
        scores: te.Tensor,
        order: te.Tensor,
        most: te.Tensor,
        overlap: te.Tensor,
        least: te.Tensor,
        capacity: Any,
    ) -> list[te.Tensor]:
        """Selected boxes, ``int64[capacity, 3]`` of batch, class, box, and their count, int64[1].

        Parameters
        ----------
        boxes, scores : te.Tensor
            ``[batches, n, 4]``, ``[batches, classes, n]``.
        order : te.Tensor
            ``int32``, as `scores`: for each class the numbers of its boxes, best first.
        most, overlap, least : te.Tensor
            ``int64``, ``float32``, ``float32``, each of one element: how many boxes a class may
            give, by how much of their union two may overlap, what a score has to exceed.
        """
        operands = [boxes, scores, order, most, overlap, least]
        made = [((capacity, 3), "int64"), ((1,), "int64")]
        found: list[te.Tensor] = computed("suppression", operands, made, self._kernel)
        return found

    def _kernel(self, *buffers: Any) -> None:
        boxes, scores, order, most, overlap, least, rows, number = buffers
        batches, classes, count = scores.shape
        first, free = local(), local()
        number[0] = _long(0)
        with T.serial(0, batches) as b, T.serial(0, classes) as c:
            first[0] = number[0]
            with T.serial(0, count) as k:
                box = order[b, c, k]
                wanted = number[0] - first[0] < most[0]
                if self.scored:
                    wanted = tirx.all(wanted, scores[b, c, box] > least[0])
                with T.If(wanted), T.Then():
                    free[0] = _long(1)
                    with T.serial(0, number[0] - first[0]) as j:
                        other = rows[first[0] + j, 2]
                        with T.If(free[0] != 0), T.Then():
                            with T.If(self._overlap(boxes, b, box, other) > overlap[0]):
                                with T.Then():
                                    free[0] = _long(0)
                    with T.If(free[0] != 0), T.Then():
                        rows[number[0], 0] = _long(b)
                        rows[number[0], 1] = _long(c)
                        rows[number[0], 2] = _long(box)
                        number[0] = number[0] + 1

    def _overlap(self, boxes: Any, batch: Any, a: Any, b: Any) -> Any:
        """The area that two boxes share over that which they cover; 0 where one has no area."""
        zero = tirx.const(0, boxes.dtype)
        sides = [self._sides(boxes, batch, box, axis) for box in (a, b) for axis in (0, 1)]
        (top, bottom), (left, right), (top2, bottom2), (left2, right2) = sides
        height = tirx.min(bottom, bottom2) - tirx.max(top, top2)
        width = tirx.min(right, right2) - tirx.max(left, left2)
        area = (bottom - top) * (right - left)
        area2 = (bottom2 - top2) * (right2 - left2)
        shared = tirx.max(height, zero) * tirx.max(width, zero)
        both = tirx.all(shared > zero, area > zero, area2 > zero)
        return tirx.if_then_else(
            both, shared / (area + area2 - shared), tirx.const(-1, boxes.dtype)
        )

    def _sides(self, boxes: Any, batch: Any, box: Any, axis: int) -> tuple[Any, Any]:
        """Where a box begins and ends along an axis: 0 from top to bottom, 1 from left to right."""
        if self.centred:
            middle, half = boxes[batch, box, 1 - axis], boxes[batch, box, 3 - axis]
            half = half / tirx.const(2, boxes.dtype)
            return middle - half, middle + half
        ends = boxes[batch, box, axis], boxes[batch, box, axis + 2]
        return tirx.min(*ends), tirx.max(*ends)


def _long(value: Any) -> Any:
    return tirx.const(value, "int64") if isinstance(value, int) else tirx.Cast("int64", value)


#: More boxes than this are no limit.
_MANY = 2**31 - 1


class NonMaxSuppression(OnnxOp):
    """The boxes of each class sorted by their scores, then a kernel of our own that selects.

    It fills a matrix for all that there may be; the result is its first rows.
    """

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
