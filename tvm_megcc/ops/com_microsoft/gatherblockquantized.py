"""com.microsoft::GatherBlockQuantized."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import relax

from tvm_megcc.core.dtypes import DType, of_numpy, unpacked_rows
from tvm_megcc.relax_tools.quantised_tables import rows as table_rows

from ...dims import Size
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import checked, from_front
from ..common.stored import decoded, held, low_bits_first

Array = npt.NDArray[Any]

#: Numbers of bits of bytes that hold unsigned numbers.
_BITS = (2, 4, 8)


class GatherBlockQuantized(OnnxOp):
    """Rows of a quantised table, dequantised after they are gathered.

    Operands: the table, indices, a scale for each block of ``quantize_axis``, zero points. A table
    of bytes holds 2, 4 or 8 bits a number, packed along the last axis, the lowest first. An index
    outside of its axis ends the run, as in Gather.
    """

    takes_storage = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        along = normal_axis(attrs.get("gather_axis", 0), rank)
        axis = normal_axis(attrs.get("quantize_axis", 1), rank)
        kind = of_numpy(inputs.dtype(0))
        bits = attrs.get("bits", 4) if kind is None or kind.name == "u8" else kind.bits
        is_packed = inputs.dtype(0) == "uint8" and bits != 8
        if bits not in _BITS:
            raise ctx.unsupported(f"{bits} bits", "quantise to 2, 4 or 8 bits")
        if is_packed and (along == axis or axis != rank - 1):
            raise ctx.ill_typed(
                f"gathers axis {along} of numbers that are packed and quantised along axis {axis}"
            )
        known = [inputs.known(k) if inputs.has(k) else None for k in (0, 2, 3)]
        table = _Table(ctx, inputs, attrs, along, axis, bits)
        is_float = kind is not None and kind.is_float
        whole = all(array is not None for array in known[: 2 + inputs.has(3)])
        if whole and not is_float and axis == rank - 1 and along == 0 != axis:
            rows = table.of_constants()
            if rows is not None:
                return rows
        return table.computed(kind if is_float else None, is_packed)


class _Table:
    """The operands of one node."""

    def __init__(
        self, ctx: Context, inputs: Inputs, attrs: Attrs, along: int, axis: int, bits: int
    ) -> None:
        self.ctx, self.inputs, self.along, self.axis, self.bits = ctx, inputs, along, axis, bits
        self.block = int(attrs.get("block_size", 128))
        scales = inputs.shape(2)
        if len(scales) != inputs.rank(0):
            raise ctx.ill_typed(f"its scales have {len(scales)} dims, its table {inputs.rank(0)}")
        (self.blocks,) = ctx.static([scales[axis]])
        (held_size,) = ctx.static([inputs.shape(0)[axis]])
        is_bytes = inputs.dtype(0) == "uint8"
        self.length = held_size * (8 // bits) if is_bytes else held_size
        if self.block == 0:
            self.block = self.length
        if self.block < 1 or -(-self.length // self.block) != self.blocks:
            raise ctx.ill_typed(
                f"{self.blocks} blocks of {self.block} for {self.length} numbers of axis {axis}"
            )
        #: The zero point of numbers that have none.
        self.middle = 1 << (bits - 1) if is_bytes else 0
        data, self.index = checked(ctx, inputs, [along], data=inputs[0])
        self.index = from_front(ctx, self.index, ctx.shape(data)[along])

    def of_constants(self) -> relax.Expr | None:
        """Rows of a table that is known, by the function that a kernel takes.

        None where a row of the table is no row of blocks: several lines that end within a block.
        """
        ctx, inputs = self.ctx, self.inputs
        table, scales = inputs.need(0, "its table"), inputs.need(2, "its scales")
        lines = math.prod(table.shape[1:-1])
        if lines > 1 and self.length % self.block or scales.shape[:-1] != table.shape[:-1]:
            return None
        is_bytes = inputs.dtype(0) == "uint8"

        def rows(array: Array, length: int) -> Array:
            whole = unpacked_rows(array, f"u{self.bits}", length) if is_bytes else held(array)
            return whole.reshape(len(table), lines * length)

        numbers = rows(table, self.length)
        if not inputs.has(3):
            zeros = np.full((len(table), lines * self.blocks), self.middle, numbers.dtype)
        else:
            points = inputs.need(3, "its zero points")
            found = unpacked_rows(points, f"u{self.bits}", self.blocks) if is_bytes else points
            if found.shape != scales.shape:
                raise ctx.ill_typed(
                    f"its zero points are {list(found.shape)}, its scales {list(scales.shape)}"
                )
            zeros = rows(points, self.blocks)
        made = table_rows(
            ctx.builder, ctx.const(numbers, str(numbers.dtype)), self.index,
            ctx.const(scales.reshape(len(table), -1), inputs.dtype(2)),
            ctx.const(zeros, str(zeros.dtype)), self.block,
        )  # fmt: skip
        return ctx.reshape(made, [*ctx.shape(self.index), *table.shape[1:-1], self.length])

    def computed(self, kind: DType | None, is_packed: bool) -> relax.Expr:
        """Rows of any table; `kind` is its type if its numbers are floats."""
        ctx, inputs = self.ctx, self.inputs
        rows = self._taken(inputs[0])
        if kind is not None:
            rows = decoded(ctx, rows, kind)
        elif is_packed:
            rows = low_bits_first(ctx, rows, self.bits, self.length)
        scales, points = inputs[2], None
        if inputs.has(3):
            points = inputs[3]
            if is_packed:
                points = low_bits_first(ctx, points, self.bits, self.blocks)
        elif self.middle:
            points = ctx.emit(relax.op.full_like(scales, ctx.const(self.middle, inputs.dtype(2))))
        if self.along != self.axis:
            taken = [self._taken(x) if x is not None else None for x in (scales, points)]
            return self._scaled(rows, taken[0], taken[1], self.axis_behind)
        block = ctx.const(self.block, inputs.dtype(1))
        self.index = ctx.emit(relax.op.floor_divide(self.index, block))
        taken = [self._taken(x) if x is not None else None for x in (scales, points)]
        return self._made(rows, taken[0], taken[1])

    @property
    def axis_behind(self) -> int:
        """The axis of blocks in the result."""
        rank = len(self.inputs.shape(1))
        return self.axis if self.axis < self.along else self.axis + rank - 1

    def _taken(self, x: relax.Expr) -> relax.Expr:
        """Elements at the indices; of an axis of one, which broadcasts, that one."""
        if self.ctx.shape(x)[self.along] == 1 != self.inputs.shape(0)[self.along]:
            index = self.ctx.emit(relax.op.zeros_like(self.index))
        else:
            index = self.index
        return self.ctx.emit(relax.op.take(x, index, self.along, "clip"))

    def _scaled(
        self, rows: relax.Expr, scales: relax.Expr, points: relax.Expr | None, axis: int
    ) -> relax.Expr:
        """The result of rows, with the scale and zero point of each block of an axis."""
        ctx = self.ctx
        shape = ctx.shape(rows)
        if self.blocks * self.block == self.length:
            split: list[Size] = [*shape[:axis], self.blocks, self.block, *shape[axis + 1 :]]
            one: list[Any] = [
                None if x is None
                else ctx.reshape(x, [*ctx.shape(x)[: axis + 1], 1, *ctx.shape(x)[axis + 1 :]])
                for x in (scales, points)
            ]  # fmt: skip
            made = ctx.emit(self._made(ctx.reshape(rows, split), one[0], one[1]))
            return ctx.reshape(made, list(shape))
        at = ctx.const(np.arange(self.length) // self.block, "int32")
        spread: list[Any] = [
            None if x is None else ctx.emit(relax.op.take(x, at, axis, "clip"))
            for x in (scales, points)
        ]
        return self._made(rows, spread[0], spread[1])

    def _made(self, rows: relax.Expr, scales: relax.Expr, points: relax.Expr | None) -> relax.Expr:
        op, ctx = relax.op, self.ctx
        dtype = self.inputs.dtype(2)
        value = ctx.emit(op.astype(rows, dtype))
        if points is not None:
            value = ctx.emit(op.subtract(value, ctx.emit(op.astype(points, dtype))))
        return op.multiply(value, scales)
