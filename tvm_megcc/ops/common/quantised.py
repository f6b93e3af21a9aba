"""Integer arithmetic as ONNX defines it: zero points, i32 sums, saturating round half to even."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from tvm import relax

from tvm_megcc.relax_tools.exprs import constant

from .activations import clip
from .context import Context, expr_dtype
from .inputs import Inputs
from .operands import is_zero, reshaped

Expr: TypeAlias = relax.Expr


def centred(ctx: Context, inputs: Inputs, data: int, zero_point: int, shape: Sequence[int]) -> Expr:
    """Operand ``data`` as i32, minus its zero point; ``shape`` broadcasts one of several points."""
    known, point = inputs.known(data), inputs.known(zero_point)
    if known is not None and (point is not None or not inputs.has(zero_point)):
        value = known.astype(np.int32)
        return ctx.const(value if point is None else value - _spread(point, shape), "int32")
    wide = ctx.emit(relax.op.astype(inputs[data], "int32"))
    if is_zero(inputs, zero_point):
        return wide
    if point is not None:
        offset = ctx.const(_spread(point, shape), "int32")
    else:
        offset = relax.op.astype(shaped(ctx, inputs, zero_point, shape), "int32")
    return ctx.emit(relax.op.subtract(wide, offset))


def _spread(point: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    return point.reshape(_beside(point.shape, shape)).astype(np.int32)


def shaped(ctx: Context, inputs: Inputs, index: int, shape: Sequence[int]) -> Expr:
    """Operand ``index``, one number or, in the given shape, one for each channel."""
    return reshaped(ctx, inputs, index, _beside(inputs.static_shape(index), shape))


def _beside(dims: Sequence[int], shape: Sequence[int]) -> Sequence[int]:
    """The shape in which one number, or one for each channel, broadcasts.

    Where a matrix is one of several, so may be the numbers of its rows or columns.
    """
    if all(dim == 1 for dim in dims):
        return []
    return dims if len(dims) > 2 and len(shape) == 2 else shape


def real(ctx: Context, inputs: Inputs, data: int) -> Expr:
    """Operands ``data``, scale, zero point (in this order) as f32: ``scale * (x - point)``."""
    step = _step(ctx, inputs, data + 1, inputs.dtype(data))
    if step is not None and inputs.rank(data):
        return ctx.emit(relax.op.dequantize(inputs[data], *step, axis=0))
    whole = relax.op.astype(centred(ctx, inputs, data, data + 2, []), "float32")
    return ctx.emit(relax.op.multiply(whole, reshaped(ctx, inputs, data + 1, [])))


def _step(ctx: Context, inputs: Inputs, scale: int, dtype: str) -> tuple[Expr, Expr] | None:
    """Operand ``scale`` and the zero point behind it, where both are known numbers: by them
    ``relax.quantize`` and ``relax.dequantize``, the forms that passes know, are the same."""
    size = inputs.known(scale)
    point = inputs.known(scale + 1) if inputs.has(scale + 1) else np.zeros((), dtype)
    if size is None or point is None or size.size != 1 or point.size != 1:
        return None
    if np.iinfo(dtype).bits != 8 or size.dtype != np.float32:
        return None
    zero = ctx.const(point.reshape(()), dtype)
    return ctx.const(size.reshape(()), "float32"), zero


def saturated(ctx: Context, x: Expr, low: int, high: int, dtype: str) -> Expr:
    """A float as an integer within limits. NaN becomes the lower one, as in ONNX Runtime.

    Clipping keeps a NaN, and an int32 made of it is the least there is: one more maximum, which C
    compilers vectorise, where a choice between floats becomes a branch.
    """
    if -(1 << 31) < low and high < 1 << 31:
        whole = ctx.emit(relax.op.astype(ctx.emit(clip(ctx, x, low, high)), "int32"))
        return relax.op.astype(relax.op.maximum(whole, ctx.const(low, "int32")), dtype)
    return relax.op.astype(ctx.emit(clip(ctx, x, low, high)), dtype)


def saturate(ctx: Context, x: Expr, point: Expr | None, dtype: str) -> Expr:
    """f32 to an integer type: round half to even, add the zero point, saturate."""
    info = np.iinfo(dtype)
    by_one = _by_steps_of_one(ctx, x, point, dtype)
    if by_one is not None:
        return by_one
    x = ctx.emit(relax.op.round(x))
    if point is not None:
        x = ctx.emit(relax.op.add(x, relax.op.astype(point, "float32")))
    return saturated(ctx, x, info.min, info.max, dtype)


def _by_steps_of_one(ctx: Context, x: Expr, point: Expr | None, dtype: str) -> Expr | None:
    """As ``relax.quantize``, where the zero point is a constant: the form that passes know."""
    known = np.zeros((), dtype) if point is None else constant(point)
    if known is None or known.size != 1 or int(x.ty.ndim) == 0 or np.iinfo(dtype).bits != 8:
        return None
    one, zero = ctx.const(np.float32(1), "float32"), ctx.const(known.reshape(()), dtype)
    return relax.op.quantize(x, one, zero, axis=0, out_dtype=dtype)


def quantised(
    ctx: Context, value: Expr, inputs: Inputs, scale: int, dtype: str, rounds_last: bool = False
) -> Expr:
    """A real value by operand ``scale`` and the zero point behind it, where it has one.

    With ``rounds_last`` the zero point is added first. Where it is odd, a tie goes the other way.
    """
    step = None if rounds_last else _step(ctx, inputs, scale, dtype)
    if step is not None and int(value.ty.ndim):
        return relax.op.quantize(value, *step, axis=0, out_dtype=dtype)
    scaled = ctx.emit(relax.op.divide(value, reshaped(ctx, inputs, scale, [])))
    point = reshaped(ctx, inputs, scale + 1, []) if inputs.has(scale + 1) else None
    if rounds_last and point is not None:
        scaled = ctx.emit(relax.op.add(scaled, relax.op.astype(point, "float32")))
        point = None
    return saturate(ctx, scaled, point, dtype)


def by_its_range(ctx: Context, x: Expr) -> tuple[Expr, Expr]:
    """f32 as DynamicQuantizeLinear has it: the u8 values less their zero point (i32), the scale.

    Both are bytes before they are i32, which kernels of integer products read.
    """
    op = relax.op
    zero, one, most = (ctx.const(v, "float32") for v in (0, 1, 255))
    low = ctx.emit(op.minimum(op.min(x), zero))
    high = ctx.emit(op.maximum(op.max(x), zero))
    span = ctx.emit(op.divide(op.subtract(high, low), most))
    scale = ctx.emit(op.where(op.equal(span, zero), one, span))
    point = op.round(clip(ctx, ctx.emit(op.divide(op.negative(low), scale)), 0.0, 255.0))
    point = ctx.emit(point)
    whole = op.add(op.round(ctx.emit(op.divide(x, scale))), point)
    whole = clip(ctx, ctx.emit(whole), 0.0, 255.0)
    values, zero = (ctx.emit(op.astype(real, "uint8")) for real in (whole, point))
    wide = (ctx.emit(op.astype(byte, "int32")) for byte in (values, zero))
    return ctx.emit(op.subtract(*wide)), scale


def scaled(ctx: Context, total: Expr, factor: Expr, inputs: Inputs, bias: int) -> Expr:
    """An i32 sum times ``factor`` as f32, plus operand ``bias`` where there is one."""
    value = ctx.emit(relax.op.multiply(relax.op.astype(total, "float32"), factor))
    if not inputs.has(bias):
        return value
    if (rank := inputs.rank(bias)) != 1:
        raise ctx.ill_typed(f"its bias has {rank} dims, not one")
    *rows, columns = ctx.shape(value)
    (count,) = inputs.shape(bias)
    # The side with the dynamic dim is cast: TVM would replace the cast of a constant by it.
    if isinstance(count, int) and not isinstance(columns, int):
        return relax.op.add(ctx.cast(value, [*rows, count]), inputs[bias])
    return relax.op.add(value, ctx.agreeing(inputs[bias], [columns], "its product"))


def requantise(
    ctx: Context, total: Expr, factor: Expr, inputs: Inputs, zero_point: int, dtype: str
) -> Expr:
    """An i32 sum times ``factor`` as a quantised tensor with operand ``zero_point``."""
    assert expr_dtype(total) == "int32"
    scaled = relax.op.multiply(relax.op.astype(total, "float32"), factor)
    point = None if is_zero(inputs, zero_point) else reshaped(ctx, inputs, zero_point, [])
    return saturate(ctx, ctx.emit(scaled), point, dtype)


def factor(
    ctx: Context,
    inputs: Inputs,
    scales: tuple[int, int, int],
    shape: Sequence[int],
    rows: Sequence[int] = (),
) -> Expr:
    """``scale_a * scale_b / scale_y`` in f32, in this order.

    ``scale_b`` may be per channel, whose ``shape`` broadcasts, and ``scale_a`` per row.
    """
    a, b, y = scales
    known = [inputs.known(i) for i in scales]
    if all(k is not None for k in known):
        first, second, last = (np.asarray(k, np.float32) for k in known)
        value = first.reshape(_beside(first.shape, rows)) * second.reshape(
            _beside(second.shape, shape)
        )
        return ctx.const(value / last.reshape(()), "float32")
    product = relax.op.multiply(shaped(ctx, inputs, a, rows), shaped(ctx, inputs, b, shape))
    return ctx.emit(relax.op.divide(product, reshaped(ctx, inputs, y, [])))
