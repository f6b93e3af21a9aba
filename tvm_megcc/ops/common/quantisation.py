"""QuantizeLinear and DequantizeLinear: scales and zero points per tensor, per axis or per block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np
from tvm import relax

from ...dims import Size
from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .context import Attrs, Context
from .inputs import Inputs
from .operator import Result
from .stock import StockOp
from .stored import decoded, storage


class Linear(StockOp):
    """TVM's conversion where there are neither blocks nor storage types, else `general`."""

    takes_storage = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: list[list[Hashable]] = [[None] * len(shape or ()) for shape in shapes]
        rank, scale = len(labels[0]), shapes[1]
        if attrs.get("block_size", 0):
            axis = attrs.get("axis", 1) % max(rank, 1)
            for row in labels:
                if len(row) == rank:
                    row[:] = [k if k != axis else None for k in range(rank)]
            for row in labels[1:]:
                if len(row) == rank:
                    row[axis] = "blocks"
            return labels
        if rank and scale is not None and len(scale) == 1 and scale[0] != 1:
            axis = attrs.get("axis", 1) if rank > 1 else 0  # which one is no question
            if -rank <= axis < rank:
                labels[0][axis] = "axis"
                for row in labels[1:]:
                    row[:] = ["axis"] * len(row)
        return labels

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        plain = all(storage(inputs.dtype(k)) is None for k in range(len(inputs)) if inputs.has(k))
        for index, what in ((1, "scale"), (2, "zero point")):
            count = len(inputs.shape(index)) if inputs.has(index) else 0
            if count > 1 and not attrs.get("block_size", 0):
                raise ctx.ill_typed(f"its {what} has {count} dims, and it has no block_size")
        if inputs.shape(1) not in ((), (1,)) and inputs.rank(0) > 1:
            normal_axis(attrs.get("axis", 1), inputs.rank(0))
        said = {"block_size", "output_dtype", "precision"} & {k for k, v in attrs.items() if v}
        if plain and not said:
            return super().convert(ctx, inputs, attrs)
        return self.general(ctx, inputs, attrs)

    @abstractmethod
    def general(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        """The node, whatever its types and blocks are."""


def numbers(ctx: Context, inputs: Inputs, index: int) -> relax.Expr:
    """An operand as f32 numbers, of whatever type it is."""
    row = storage(inputs.dtype(index))
    x = inputs[index] if row is None else decoded(ctx, inputs[index], row)
    return ctx.as_f32(x)


def beside(ctx: Context, inputs: Inputs, index: int, attrs: Attrs) -> relax.Expr:
    """A scale or zero point as f32 numbers, so that it broadcasts to operand 0."""
    shape, have = inputs.shape(0), inputs.shape(index)
    x = numbers(ctx, inputs, index)
    if not have or have == (1,):
        return ctx.reshape(x, [])
    axis = normal_axis(attrs.get("axis", 1), len(shape))
    block = int(attrs.get("block_size", 0))
    if not block:
        return ctx.reshape(x, [*have, *[1] * (len(shape) - 1 - axis)])
    if len(have) != len(shape):
        raise ctx.ill_typed(f"its scale has {len(have)} dims, its operand {len(shape)}")
    return _spread(ctx, x, axis, block, shape, have)


def _spread(
    ctx: Context, x: relax.Expr, axis: int, block: int, shape: tuple[Size, ...], have: Any
) -> relax.Expr:
    """Each scale as often as its block has elements; the last block may be shorter."""
    count, size = have[axis], shape[axis]
    if isinstance(size, int) and isinstance(count, int) and not 0 <= count * block - size < block:
        raise ctx.ill_typed(f"{count} blocks of {block} for {size} elements of axis {axis}")
    if not isinstance(size, int) or not isinstance(count, int):
        raise ctx.unsupported(
            f"axis {axis}, which is divided into blocks, has no fixed size",
            "fix the model's dims with --input-shapes",
        )
    index = ctx.const(np.arange(size) // block, "int32")
    return ctx.emit(relax.op.take(x, index, axis=axis, mode="clip"))
