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
        sides: te.Tensor,
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
        sides, scores : te.Tensor
            ``[batches, n, 4]``, as `sides` has them, and ``[batches, classes, n]``.
        order : te.Tensor
            ``int32``, as `scores`: for each class the numbers of its boxes, best first.
        most, overlap, least : te.Tensor
            ``int64``, ``float32``, ``float32``, each of one element: how many boxes a class may
            give, by how much of their union two may overlap, what a score has to exceed.
        """
        operands = [sides, scores, order, most, overlap, least]
        made = [((capacity, 3), "int64"), ((1,), "int64")]
        found: list[te.Tensor] = computed("suppression", operands, made, self._kernel)
        return found

    def _kernel(self, *buffers: Any) -> None:
        sides, scores, order, most, overlap, least, rows, number = buffers
        batches, classes, count = scores.shape
        first, place, box, other, free = (local() for _ in range(5))
        mine = _Box.local(sides.dtype)
        number[0] = _long(0)
        with T.serial(0, batches) as b, T.serial(0, classes) as c:
            first[0] = number[0]
            place[0] = _long(0)
            with T.While(tirx.all(place[0] < count, number[0] - first[0] < most[0])):
                box[0] = _long(order[b, c, place[0]])
                free[0] = _long(1)
                place[0] = place[0] + 1
                if self.scored:  # those behind have no higher score; but NaN stands in front
                    score = scores[b, c, box[0]]
                    with T.If(tirx.Not(score > least[0])), T.Then():
                        free[0] = _long(0)
                    with T.If(score <= least[0]), T.Then():
                        place[0] = _long(count)
                mine.read(sides, b, box[0])
                other[0] = first[0]
                with T.While(tirx.all(free[0] != 0, other[0] < number[0])):
                    mine.mark(sides, b, rows[other[0], 2], overlap[0], free)
                    other[0] = other[0] + 1
                with T.If(free[0] != 0), T.Then():
                    rows[number[0], 0] = _long(b)
                    rows[number[0], 1] = _long(c)
                    rows[number[0], 2] = box[0]
                    number[0] = number[0] + 1

    def sides(self, boxes: te.Tensor) -> te.Tensor:
        """Where boxes begin and end: ``[batches, n, 4]`` of top, bottom, left, right."""
        found: te.Tensor = computed("sides", [boxes], [(boxes.shape, boxes.dtype)], self._sides)
        return found

    def _sides(self, boxes: Any, sides: Any) -> None:
        batches, count, _ = boxes.shape
        with T.serial(0, batches) as b, T.serial(0, count) as k, T.serial(0, 2) as axis:
            if self.centred:
                middle = boxes[b, k, 1 - axis]
                half = boxes[b, k, 3 - axis] / tirx.const(2, boxes.dtype)
                begin, end = middle - half, middle + half
            else:
                corners = boxes[b, k, axis], boxes[b, k, axis + 2]
                begin, end = tirx.min(*corners), tirx.max(*corners)
            sides[b, k, 2 * axis], sides[b, k, 2 * axis + 1] = begin, end


@dataclass(frozen=True, slots=True)
class _Box:
    """A box in local memory: where it begins and ends, down and to the right, and its area."""

    top: Any
    bottom: Any
    left: Any
    right: Any
    area: Any

    @classmethod
    def local(cls, dtype: str) -> _Box:
        return cls(*(local(dtype) for _ in range(5)))

    def read(self, sides: Any, batch: Any, number: Any) -> None:
        for k, side in enumerate((self.top, self.bottom, self.left, self.right)):
            side[0] = sides[batch, number, k]
        self.area[0] = (self.bottom[0] - self.top[0]) * (self.right[0] - self.left[0])

    def mark(self, sides: Any, batch: Any, number: Any, most: Any, free: Any) -> None:
        """Set ``free[0]`` to 0 if more than `most` of what both boxes cover is shared.

        Most boxes lie apart, which four comparisons say.
        """
        zero = tirx.const(0, self.area.dtype)
        height, width, shared, other = (local(self.area.dtype) for _ in range(4))
        top, bottom, left, right = (sides[batch, number, k] for k in range(4))
        with T.If(tirx.all(self.bottom[0] > top, bottom > self.top[0])), T.Then():
            with T.If(tirx.all(self.right[0] > left, right > self.left[0])), T.Then():
                height[0] = tirx.min(self.bottom[0], bottom) - tirx.max(self.top[0], top)
                width[0] = tirx.min(self.right[0], right) - tirx.max(self.left[0], left)
                shared[0] = height[0] * width[0]
                other[0] = (bottom - top) * (right - left)
                covered = self.area[0] + other[0] - shared[0]
                there = tirx.all(shared[0] > zero, self.area[0] > zero, other[0] > zero)
                with T.If(tirx.all(there, shared[0] / covered > most)), T.Then():
                    free[0] = _long(0)


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
            ctx.builder.emit_te(kernel.sides, corners),
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
