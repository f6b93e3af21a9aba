"""Range, for lengths that depend on the shapes, on data, or are too large to fold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from tvm import relax

from ...dims import Size, maximum
from ...shapes.arithmetic import MAX_GENERATED, Known, dtype_of, items_of
from ...shapes.read_from_data import sizes_from
from ...shapes.sizes import Item, NotShapes, Real, size_array
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import counted
from ..common.operands import scalar

#: Differences from here on leave int64.
_TOO_FAR = float(1 << 63)


class Range(OnnxOp):
    """``arange`` from 0, times the step, plus the start."""

    single = {0: "start", 1: "limit", 2: "delta"}

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        start, limit, delta = (Real.of(items_of(o).reshape(-1)[0]) for o in operands)
        count = maximum(((limit - start) / delta).ceil(), 0)
        if not isinstance(count, int) or count > MAX_GENERATED:
            raise NotShapes  # it becomes a tensor of symbolic length
        dtype = dtype_of(operands[0])
        items = [start + delta * Real.of(k) for k in range(count)]
        whole: list[Item] = [*items] if "float" in dtype else [i.truncated() for i in items]
        return size_array(whole, (count,), dtype)

    def generated(self, operands: Sequence[Any]) -> int:
        start, limit, delta = (float(a.reshape(-1)[0]) for a in operands)
        return int(abs((limit - start) / (delta or 1)))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(0)
        numbers_of = inputs.reals if "float" in dtype else inputs.ints
        given = [numbers_of(k) for k in range(3)]
        known = [inputs.known(k) for k in range(3)]
        numbers = [array.reshape(-1)[0] for array in known if array is not None]
        if len(numbers) == 3 and "float" in dtype:
            count: Size = _length_of_floats(ctx, *numbers)
        else:
            count = _length(ctx, inputs, given)
        counted(ctx, count)
        start, step = (None if values is None else values[0] for values in given[::2])
        result = relax.op.arange(0, ctx.prim(count), 1, dtype)
        if not _is(step, 1):
            result = relax.op.multiply(ctx.emit(result), scalar(ctx, inputs, 2))
        if not _is(start, 0):
            result = relax.op.add(ctx.emit(result), scalar(ctx, inputs, 0))
        return result


def _is(value: float | Real | None, number: int) -> bool:
    """Whether a value is known and equals a number; not every float is a quotient."""
    return value == (Real(number) if isinstance(value, Real) else number)


def _length(ctx: Context, inputs: Inputs, given: Sequence[list[Any] | None]) -> Size:
    """The length; read at run time where shapes do not give it (a step of unknown sign)."""
    rows = [values for values in given if values is not None]
    with suppress(NotShapes):
        if len(rows) == 3:
            start, limit, step = (Real.of(_whole(values[0])) for values in rows)
            return maximum(((limit - start) / step).ceil(), 0)
    return _length_from_data(ctx, inputs)


def _length_of_floats(
    ctx: Context, start: np.floating, limit: np.floating, step: np.floating
) -> int:
    """The length for known floats, computed as `_quotient_of_floats` does."""
    with np.errstate(all="ignore"):
        number = np.ceil(np.float64(limit - start) / np.float64(step))
    if not abs(number) < _TOO_FAR:
        raise ctx.ill_typed(f"from {start} to {limit} there is no number of steps of {step}")
    return max(int(number), 0)


def _whole(value: float | Real) -> float | int | Real:
    return int(value) if isinstance(value, float) and value == int(value) else value


def _length_from_data(ctx: Context, inputs: Inputs) -> Size:
    """``max(ceil((limit - start) / step), 0)``, computed at run time and read then.

    Where there is no such number (a step of 0, NaN, one beyond int64) it is -1, which is refused.
    """
    limits = [relax.op.reshape(inputs[k], [1]) for k in range(3)]
    quotient = _quotient_of_floats if "float" in inputs.dtype(0) else _quotient_of_ints
    count, exists = quotient(ctx, *limits)
    count = relax.op.maximum(count, ctx.const(0, "int64"))
    count = ctx.emit(relax.op.where(exists, count, ctx.const(-1, "int64")))
    (size,) = sizes_from(ctx, count, ["length"], [None])
    return size


def _quotient_of_floats(
    ctx: Context, start: relax.Expr, limit: relax.Expr, step: relax.Expr
) -> tuple[relax.Expr, relax.Expr]:
    """``ceil((limit - start) / step)`` in i64, and whether the length is a number that fits.

    Subtracted in the operands' type and divided in f64, as ONNX Runtime does.
    """
    op = relax.op
    gap = op.astype(op.subtract(limit, start), "float64")
    number = ctx.emit(op.ceil(op.divide(gap, op.astype(step, "float64"))))
    exists = ctx.emit(op.less(op.abs(number), ctx.const(_TOO_FAR, "float64")))
    number = op.where(exists, number, ctx.const(0.0, "float64"))
    return op.astype(number, "int64"), exists


def _quotient_of_ints(
    ctx: Context, start: relax.Expr, limit: relax.Expr, step: relax.Expr
) -> tuple[relax.Expr, relax.Expr]:
    """As `_quotient_of_floats`, for integers and exact: ``-floor((start - limit) / step)``."""
    op = relax.op
    gap = op.subtract(op.astype(start, "float64"), op.astype(limit, "float64"))
    start, limit, step = (ctx.emit(op.astype(v, "int64")) for v in (start, limit, step))
    given = ctx.emit(op.not_equal(step, ctx.const(0, "int64")))
    exists = op.logical_and(given, op.less(op.abs(gap), ctx.const(_TOO_FAR, "float64")))
    divisor = op.where(given, step, ctx.const(1, "int64"))
    return op.negative(op.floor_divide(op.subtract(start, limit), divisor)), ctx.emit(exists)
