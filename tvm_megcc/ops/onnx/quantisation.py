"""QuantizeLinear and DequantizeLinear: scales and zero points per tensor, per axis or per block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np
from tvm import relax

from tvm_megcc.core.dtypes import DType, of_numpy, of_onnx

from ...dims import Size
from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.dequantised import dequantised
from ..common.quantised import saturated
from ..common.stock import StockOp
from ..common.stored import decoded, encoded, storage


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
        """Convert a node of any types and blocks."""


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
    """Repeat each scale for the elements of its block; the last block may be shorter."""
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


class QuantizeLinear(Linear):
    """The quotient by the scale: rounded, moved by the zero point and saturated, or as a float."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        for k in (0, 1):
            if inputs.dtype(k) == "int32":  # which TVM neither divides nor divides by
                inputs = inputs.replaced(k, ctx.as_f32(inputs[k]))
        return super().convert(ctx, inputs, attrs)

    def general(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        to = of_onnx(attrs["output_dtype"]) if attrs.get("output_dtype") else of_numpy("uint8")
        if inputs.has(2):
            point = of_numpy(inputs.dtype(2))
            if attrs.get("output_dtype") and to is not point:
                raise ctx.ill_typed(f"its zero point is {inputs.dtype(2)}, its output_dtype not")
            to = point
        if to is None:
            raise ctx.unsupported("no tensor here can be of its output_dtype", "quantise to i8")
        x, scale = numbers(ctx, inputs, 0), beside(ctx, inputs, 1, attrs)
        precision = of_onnx(attrs.get("precision", 0))
        quotient = relax.op.divide(_rounded(ctx, x, precision), _rounded(ctx, scale, precision))
        quotient = _rounded(ctx, ctx.emit(quotient), precision)
        zero = beside(ctx, inputs, 2, attrs) if inputs.has(2) else None
        if to.is_float:
            if zero is not None and to.is_packed:  # that of 8-bit floats is 0
                quotient = ctx.emit(relax.op.add(quotient, zero))
            return encoded(ctx, quotient, to, bool(attrs.get("saturate", 1)))
        whole = ctx.emit(relax.op.round(quotient))
        if zero is not None:
            whole = ctx.emit(relax.op.add(whole, zero))
        low = 0 if to.numpy.startswith("u") else -(1 << (to.bits - 1))
        result = saturated(ctx, whole, low, low + (1 << to.bits) - 1, to.held_numpy)
        return ctx.stored_as(result, to.numpy) if to.is_storage else result


def _rounded(ctx: Context, x: relax.Expr, precision: DType | None) -> relax.Expr:
    """Round f32 to f16 or bf16 and back where the attribute `precision` names one of these."""
    if precision is None or precision.name not in ("f16", "bf16"):
        return x
    narrow = ctx.emit(relax.op.astype(x, precision.numpy))
    return ctx.emit(relax.op.astype(narrow, "float32"))


class DequantizeLinear(Linear):
    """The number less the zero point, times the scale."""

    def general(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        weights = _weights(ctx, inputs, attrs)
        if weights is not None:
            return weights
        x, scale = numbers(ctx, inputs, 0), beside(ctx, inputs, 1, attrs)
        row = storage(inputs.dtype(0))
        if inputs.has(2) and (row is None or not row.is_float):  # that of floats is 0
            x = ctx.emit(relax.op.subtract(x, beside(ctx, inputs, 2, attrs)))
        result = relax.op.multiply(x, scale)
        to = of_onnx(attrs.get("output_dtype", 0))
        if to is None or to.name == "f32":
            return result
        return relax.op.astype(ctx.emit(result), to.numpy)


def _weights(ctx: Context, inputs: Inputs, attrs: Attrs) -> relax.Expr | None:
    """A constant matrix of at most 8 bits that becomes f32, in the form that kernels are for."""
    data, scale = inputs.known(0), inputs.known(1)
    zero = inputs.known(2)
    if data is None or scale is None or data.ndim != 2 or scale.dtype != np.float32:
        return None
    row, to = of_numpy(str(data.dtype)), of_onnx(attrs.get("output_dtype", 0))
    is_wide = row is None or row.bits > 8 or row.is_float
    if is_wide or (inputs.has(2) and zero is None) or (to is not None and to.name != "f32"):
        return None
    axis, block = normal_axis(attrs.get("axis", 1), 2), int(attrs.get("block_size", 0))
    if block:
        wanted = [*data.shape]
        wanted[axis] = -(-wanted[axis] // block)
        if list(scale.shape) != wanted:
            return None  # what is wrong with it is said where it is spread
    return dequantised(ctx, data, scale, zero, axis, block)


OPERATORS = [QuantizeLinear, DequantizeLinear]
