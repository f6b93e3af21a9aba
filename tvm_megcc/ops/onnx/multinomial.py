"""Multinomial."""

from __future__ import annotations

from typing import Any

from tvm import relax, te, tirx

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, tvm_dtype, uniform, wide_of


class Multinomial(Random):
    """Classes drawn by logarithms of probabilities, which need not sum up to one.

    A number of [0, 1) times the sum of all probabilities lies below the sum up to its class, and no
    class of probability 0 is drawn. Of a row without a positive finite sum it is any class.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rows, classes = inputs.shape(0)
        if classes == 0:
            raise ctx.ill_typed("there is no class to draw")
        wide = wide_of(inputs.dtype(0))
        logs = inputs[0]
        if inputs.dtype(0) != wide:
            logs = ctx.emit(relax.op.astype(logs, wide))
        above = ctx.emit(relax.op.max(logs, axis=[1], keepdims=True))
        odds = ctx.emit(relax.op.exp(ctx.emit(relax.op.subtract(logs, above))))
        sums = ctx.emit(relax.op.cumsum(odds, axis=1))
        dtype = tvm_dtype(ctx, attrs.get("dtype", 6))
        numbers = uniform(ctx, attrs, [rows, attrs.get("sample_size", 1)], wide)
        return ctx.builder.call_te(_drawn, sums, numbers, dtype, primfunc_name_hint="multinomial")


def _drawn(sums: te.Tensor, numbers: te.Tensor, dtype: str) -> te.Tensor:
    """Of each number the class: how many sums are not above that part of the last one."""
    classes = sums.shape[1]
    k = te.reduce_axis((0, classes), "class")
    one, zero = (tirx.const(value, dtype) for value in (1, 0))

    def count(row: Any, column: Any) -> Any:
        wanted = numbers[row, column] * sums[row, classes - 1]
        return te.sum(tirx.Select(sums[row, k] <= wanted, one, zero), axis=k)

    found = te.compute(numbers.shape, count, name="found")
    last = tirx.Cast(dtype, classes - 1)
    return te.compute(
        numbers.shape, lambda row, column: tirx.min(found[row, column], last), name="drawn"
    )
