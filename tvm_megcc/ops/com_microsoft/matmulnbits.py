"""com.microsoft::MatMulNBits."""

from __future__ import annotations

import numpy as np
from tvm import relax

from tvm_megcc.core.dtypes import unpacked_rows

from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.dequantised import dequantised
from ..common.stored import low_bits_first

#: How many numbers there are to a byte of so many bits.
_BITS = (2, 4, 8)
#: The ``accuracy_level`` from which on A may be rounded to int8, by the blocks of B.
_INT8 = 4


class MatMulNBits(Composite):
    """``A @ B.T`` of a B that is packed, several numbers to a byte; the lowest bits come first.

    Operands: A, B ``[n, blocks, bytes of a block]``, a scale for each block, their zero points
    (packed like B, or real numbers; the middle of the range where there are none), the number of
    the block by whose scale a place of K goes, and a bias. With ``accuracy_level`` 4 a kernel may
    round A to int8, each block of K by a scale of its own.
    """

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [[] for _ in shapes]

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, bits = relax.op, attrs.get("bits", 4)
        if bits not in _BITS:
            raise ctx.unsupported(f"{bits} bits", "quantise to 2, 4 or 8 bits")
        rows, length, size = attrs["N"], attrs["K"], attrs["block_size"]
        order = _order(ctx, inputs, length, size)
        int8 = attrs.get("accuracy_level", 0) >= _INT8
        weight = _constant(ctx, inputs, bits, (rows, length, size), order, int8)
        if weight is None and order is not None:
            raise ctx.unsupported("an order of groups (g_idx) of weights that are computed",
                                  "make B, its scales and zero points constants")  # fmt: skip
        if weight is None:
            weight = _computed(ctx, inputs, bits, (rows, length, size))
        data = ctx.agreeing(inputs[0], [*inputs.shape(0)[:-1], length], "its attribute K")
        if order is not None:
            data = ctx.emit(op.take(data, ctx.const(order, "int64"), axis=-1))
        result = ctx.emit(op.matmul(data, ctx.emit(op.permute_dims(weight))))
        if not inputs.has(5):
            return result
        if (count := inputs.rank(5)) != 1:
            raise ctx.ill_typed(f"its bias has {count} dims, not one")
        return op.add(result, ctx.agreeing(inputs[5], [rows], "its attribute N"))


def _order(ctx: Context, inputs: Inputs, length: int, size: int) -> np.ndarray | None:
    """The places of K by their blocks, None where they are so already."""
    if not inputs.has(4):
        return None
    groups = inputs.known(4)
    blocks = np.arange(length) // size
    if groups is not None:
        order = np.argsort(groups[:length], kind="stable")
        if np.array_equal(groups[:length][order], blocks):
            return None if np.array_equal(order, np.arange(length)) else order
    raise ctx.unsupported("an order of groups (g_idx) that is computed or has other than"
                          f" {size} places to a block", "quantise without g_idx")  # fmt: skip


def _constant(
    ctx: Context, inputs: Inputs, bits: int, sizes: tuple[int, int, int],
    order: np.ndarray | None, int8_rows: bool,
) -> relax.Expr | None:  # fmt: skip
    """B ``[N, K]`` of constants, None where it is not known or its zero points are no integers."""
    rows, length, size = sizes
    blocks = -(-length // size)
    packed, scale, point = (inputs.known(k) for k in (1, 2, 3))
    if packed is None or scale is None or inputs.dtype(0) != "float32":
        return None
    if inputs.has(3) and (point is None or point.dtype != np.uint8):
        return None

    def unpacked(array: np.ndarray, width: int, held: int) -> np.ndarray:
        if array.size != rows * held:
            raise ctx.ill_typed(f"has {array.size} bytes for {rows} rows of {held}")
        return unpacked_rows(array.reshape(rows, held), f"u{bits}", width)

    if point is None:
        zero = np.full((rows, blocks), 1 << (bits - 1), np.uint8)
    else:  # a row of zero points begins with a byte of its own
        zero = unpacked(point, blocks, -(-blocks * bits // 8))
    numbers = unpacked(packed, length, blocks * size * bits // 8)
    if order is not None:
        numbers = numbers[:, order]
    return dequantised(
        ctx, numbers, scale.reshape(rows, blocks), zero, 1, size, int8_rows=int8_rows
    )


def _computed(ctx: Context, inputs: Inputs, bits: int, sizes: tuple[int, int, int]) -> relax.Expr:
    """B ``[N, K]``, whatever its operands are."""
    op = relax.op
    rows, length, size = sizes
    blocks, dtype = -(-length // size), inputs.dtype(0)
    held = ctx.reshape(inputs[1], [rows, blocks, size * bits // 8])
    whole = low_bits_first(ctx, held, bits, size)
    if not inputs.has(3):
        point = ctx.const(1 << (bits - 1), dtype)
    elif "float" in inputs.dtype(3):
        point = ctx.reshape(inputs[3], [rows, blocks, 1])
    else:
        # A row of zero points begins with a byte of its own.
        point = ctx.reshape(inputs[3], [rows, -(-blocks * bits // 8)])
        point = low_bits_first(ctx, point, bits, blocks)
        point = ctx.emit(op.astype(ctx.reshape(point, [rows, blocks, 1]), dtype))
    centred = ctx.emit(op.subtract(op.astype(whole, dtype), point))
    scales = ctx.reshape(inputs[2], [rows, blocks, 1])
    weight = ctx.reshape(ctx.emit(op.multiply(centred, scales)), [rows, blocks * size])
    if blocks * size == length:
        return weight
    return ctx.emit(op.strided_slice(weight, [1], [0], [length], [1]))
