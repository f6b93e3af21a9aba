"""Values of storage types (`core.dtypes`): from and to numbers, from and to a port's bytes.

Inside a model such a value is a tensor of bytes, `held`, and `Context.stored` says of which type it
is. 4- and 2-bit integers are held as their numbers, 8- and 4-bit floats as their codes.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from tvm_megcc.core.dtypes import DType, numpy_dtype, of_numpy

from ...relax_tools.tir_kernels import computed
from .context import Attrs, Context, expr_dtype
from .inputs import Inputs

Array = npt.NDArray[Any]


def storage(dtype: str) -> DType | None:
    """Storage-only type, such as float8, for TVM's name of a type; None for all other types."""
    row = of_numpy(dtype)
    return row if row is not None and row.is_storage else None


def held(array: Array) -> Array:
    """An array of a storage type as the model holds it; other arrays are unchanged."""
    row = storage(str(array.dtype))
    if row is None:
        return array
    return array.view(np.uint8) if row.is_float else array.astype(numpy_dtype(row.held))


def restored(array: Array, row: DType) -> Array:
    """`held`, back: the array of a storage type."""
    return array.view(numpy_dtype(row.name)) if row.is_float else array.astype(row.numpy)


# ---- numbers -----------------------------------------------------------------------------------


def decoded(ctx: Context, x: relax.Expr, row: DType) -> relax.Expr:
    """Values of a storage type as numbers: f32 for floats, integers unchanged."""
    if not row.is_float:
        return x
    codes = np.arange(1 << row.bits, dtype=np.uint8)
    table = ctx.const(codes.view(numpy_dtype(row.name)).astype(np.float32), "float32")
    index = ctx.emit(relax.op.astype(x, "int32"))
    return ctx.emit(relax.op.take(table, index, axis=0, mode="clip"))


def encoded(
    ctx: Context, x: relax.Expr, row: DType, saturate: bool = True, round_mode: str = "up"
) -> relax.Expr:
    """Numbers as a storage type: floats to the nearest, integers wrapped.

    ``saturate``, of 8-bit floats: what is out of range becomes the last number, else infinity or
    NaN. ``round_mode`` is that of float8_e8m0fnu.
    """
    if not row.is_float:
        if "float" in expr_dtype(x):
            x = ctx.emit(relax.op.astype(x, "int32"))
        shift = ctx.const(8 - row.bits, row.held_numpy)
        x = ctx.emit(relax.op.left_shift(ctx.emit(relax.op.astype(x, row.held_numpy)), shift))
        return ctx.stored_as(relax.op.right_shift(x, shift), row.numpy)
    if expr_dtype(x) not in ("float32", "float64"):
        x = ctx.emit(relax.op.astype(x, "float32"))

    def codes(value: te.Tensor) -> te.Tensor:
        def one(*index: tirx.Var) -> tirx.PrimExpr:
            number = _as_f32(value(*index))
            if row.name == "f8e8m0":
                return _power_code(number, saturate, round_mode)
            return _float_code(number, _FORMATS[row.name], saturate)

        return te.compute(value.shape, one, name="encode")

    return ctx.stored_as(ctx.builder.emit_te(codes, x), row.numpy)


def cast(ctx: Context, inputs: Inputs, to: DType, attrs: Attrs) -> relax.Expr | None:
    """Operand 0 as Cast converts it; None where no storage type is involved."""
    source = storage(inputs.dtype(0))
    if source is to and not to.is_float:  # of a float, saturation may change infinities
        return inputs[0]
    x = inputs[0] if source is None else decoded(ctx, inputs[0], source)
    if to.is_storage:
        saturate, round_mode = bool(attrs.get("saturate", 1)), attrs.get("round_mode", "up")
        return encoded(ctx, x, to, saturate, round_mode)
    return None if source is None else relax.op.astype(x, to.numpy)


class _Format:
    """The layout of a float's bits.

    ``last`` is the code of the greatest number, ``beyond`` that of what is greater, where it does
    not become the last one; ``nan`` that of NaN.
    """

    def __init__(
        self, bits: int, mantissa: int, bias: int, last: int, beyond: int, nan: int, fnuz: bool
    ) -> None:
        self.bits, self.mantissa, self.bias = bits, mantissa, bias
        self.last, self.beyond, self.nan, self.fnuz = last, beyond, nan, fnuz


#: Sources: OCP 8-bit Floating Point Specification (2023), OCP Microscaling Formats (2023), and for
#: the types without infinities and a negative zero, Noune et al., "8-bit Numerical Formats for Deep
#: Neural Networks" (2022).
_FORMATS = {
    "f8e4m3fn": _Format(8, 3, 7, 0x7E, 0x7F, 0x7F, False),
    "f8e4m3fnuz": _Format(8, 3, 8, 0x7F, 0x80, 0x80, True),
    "f8e5m2": _Format(8, 2, 15, 0x7B, 0x7C, 0x7E, False),
    "f8e5m2fnuz": _Format(8, 2, 16, 0x7F, 0x80, 0x80, True),
    "f4e2m1": _Format(4, 1, 1, 0x7, 0x7, 0x0, False),
}


def _u32(value: int) -> tirx.PrimExpr:
    return tirx.const(value, "uint32")


def _bits(value: tirx.PrimExpr) -> tirx.PrimExpr:
    return tirx.reinterpret("uint32", value)


def _float(bits: int) -> tirx.PrimExpr:
    """The f32 of these bits."""
    return tirx.const(float(np.uint32(bits).view(np.float32)), "float32")


def _as_f32(value: tirx.PrimExpr) -> tirx.PrimExpr:
    """A number as an f32 that rounds to a shorter type as it does.

    Of an f64 the last bit is set where bits are lost: no f32 that ends in 1 lies half way between
    two numbers of those types.
    """
    if str(value.ty.dtype) == "float32":
        return value
    near = value.astype("float32")
    back, bits = near.astype("float64"), _bits(near)
    below = tirx.Select(tirx.abs(back) > tirx.abs(value), bits - _u32(1), bits) | _u32(1)
    exact = tirx.any(back == value, tirx.isnan(value))
    return tirx.reinterpret("float32", tirx.Select(exact, bits, below))


def _float_code(value: tirx.PrimExpr, to: _Format, saturate: bool) -> tirx.PrimExpr:
    bits = _bits(value)
    size = bits & _u32(0x7FFFFFFF)
    shift = 23 - to.mantissa
    # Half of the last place, or just less where the last place is even: ties go to even.
    half = ((size >> _u32(shift)) & _u32(1)) + _u32((1 << (shift - 1)) - 1)
    normal = ((size + half) >> _u32(shift)) - _u32((127 - to.bias) << to.mantissa)
    # Below the smallest normal number the place is fixed: an addition rounds there.
    step = (127 + 23 + 1 - to.bias - to.mantissa) << 23
    small = _bits(tirx.reinterpret("float32", size) + _float(step)) - _u32(step)
    smallest = (127 + 1 - to.bias) << 23
    code = tirx.Select(size < _u32(smallest), small, normal)
    too_large = tirx.any(size >= _u32(0x7F800000), code > _u32(to.last))
    code = tirx.Select(too_large, _u32(to.last if saturate else to.beyond), code)
    sign = (bits >> _u32(31)) << _u32(to.bits - 1)
    if to.fnuz:  # neither zero nor NaN has a sign
        sign = tirx.Select(code & _u32(0x7F) == _u32(0), _u32(0), sign)
    nan = _u32(to.nan) | (bits >> _u32(31) << _u32(7) if not to.fnuz else _u32(0))
    if to.bits == 4:  # there is no NaN: ml_dtypes gives the zero of the other sign
        nan = sign ^ _u32(8)
    return tirx.Select(size > _u32(0x7F800000), nan, code | sign).astype("uint8")


def _power_code(value: tirx.PrimExpr, saturate: bool, round_mode: str) -> tirx.PrimExpr:
    """The exponent of a number; its sign is lost, and infinity is NaN."""
    bits = _bits(value) & _u32(0x7FFFFFFF)
    exponent, fraction = bits >> _u32(23), bits & _u32(0x7FFFFF)
    if round_mode == "up":
        more = fraction > _u32(0)
    elif round_mode == "nearest":
        # A tie goes up, except for subnormal numbers.
        lowest = tirx.Select(exponent > _u32(0), _u32(0x400000), _u32(0x400001))
        more = fraction >= lowest
    else:
        return exponent.astype("uint8")
    last = 0xFE if saturate else 0xFF
    return (exponent + tirx.Select(tirx.all(more, exponent < _u32(last)), _u32(1), _u32(0))).astype(
        "uint8"
    )


# ---- ports -------------------------------------------------------------------------------------

#: TVM's number of a function that is fused with nothing.
_OPAQUE = 8


def unpacked(ctx: Context, param: relax.Var, row: DType) -> relax.Expr:
    """The elements of a packed input, of which only the first bytes are read."""
    each = 8 // row.bits

    def one(data: te.Tensor) -> te.Tensor:
        def element(*index: tirx.Var) -> tirx.PrimExpr:
            at = _flat(index, data.shape)
            byte = data(*_spread(at // each, data.shape))
            shift = (at % each * row.bits).astype("uint8")
            if row.held == "u8":
                return (byte >> shift) & tirx.const(2**row.bits - 1, "uint8")
            # The element's first bit goes to where the sign is.
            up = tirx.const(8 - row.bits, "uint8") - shift
            return (byte << up).astype("int8") >> tirx.const(8 - row.bits, "int8")

        return te.compute(data.shape, element, name="unpack")

    return ctx.stored_as(ctx.builder.emit_te(one, param), row.numpy)


def low_bits_first(ctx: Context, packed: relax.Expr, bits: int, length: int) -> relax.Expr:
    """Numbers of the bytes of each row, the lowest bits first: ``uint8[..., length]``."""
    if bits == 8:
        return packed
    op, shape, count = relax.op, ctx.shape(packed), 8 // bits
    shifts = ctx.const(np.arange(count) * bits, "uint8")
    moved = ctx.emit(op.right_shift(ctx.reshape(packed, [*shape, 1]), shifts))
    numbers = ctx.emit(op.bitwise_and(moved, ctx.const((1 << bits) - 1, "uint8")))
    whole = ctx.reshape(numbers, [*shape[:-1], shape[-1] * count])
    if shape[-1] * count == length:
        return whole
    return ctx.emit(op.strided_slice(whole, [len(shape) - 1], [0], [length], [1]))


def packed(ctx: Context, x: relax.Expr, row: DType) -> relax.Expr:
    """The bytes of a packed output, in a tensor with more room: its first ones are written."""
    return ctx.builder.emit_te(_pack, x, row.bits, primfunc_attrs={"op_pattern": _OPAQUE})


def _pack(x: te.Tensor, bits: int) -> te.Tensor:
    return computed("pack", [x], [(x.shape, "uint8")], partial(_packing, bits))


def _packing(bits: int, x: Any, y: Any) -> None:
    each, mask = 8 // bits, tirx.const(2**bits - 1, "uint8")
    count = prod(x.shape, start=tirx.const(1, "int64"))
    with T.serial(0, (count + (each - 1)) // each) as k:
        byte = tirx.const(0, "uint8")
        for part in range(each):
            at = k * each + part
            code = x[tuple(_spread(at, x.shape))].astype("uint8") & mask
            there = tirx.if_then_else(at < count, code, tirx.const(0, "uint8"))
            byte = byte | (there << tirx.const(part * bits, "uint8"))
        y[tuple(_spread(k, y.shape))] = byte


def _flat(index: Any, shape: Any) -> Any:
    at = tirx.const(0, "int64")
    for k, dim in zip(index, shape, strict=True):
        at = at * dim + k
    return at


def _spread(at: Any, shape: Any) -> list[Any]:
    """The index of an element by its number; of a tensor without elements, which is never asked
    for, any one."""
    index = []
    for dim in reversed(list(shape)[1:]):
        if isinstance(dim, tirx.IntImm) and dim.value == 0:
            return [tirx.const(0, "int64")] * len(shape)
        index.append(at % dim)
        at = at // dim
    return [at, *reversed(index)] if len(shape) else []
