"""Det."""

from __future__ import annotations

from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import tirx as T

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.matrices import Elimination, eliminated, squares


class Det(OnnxOp):
    """The product of the pivots of Gaussian elimination with row pivoting."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, batch, _ = squares(ctx, inputs)
        return ctx.reshape(ctx.builder.emit_te(_determinants, data), batch)


def _determinants(x: te.Tensor) -> te.Tensor:
    return eliminated("det", x, x.shape[:1], _determinant)


def _determinant(work: Elimination, x: Any, result: Any, b: Any) -> None:
    a, size, pivot = work.a, work.size, work.pivot
    with T.serial(0, size) as i, T.serial(0, size) as j:
        a[i, j] = x[b, i, j]
    result[b] = tirx.const(1, a.dtype)
    with T.serial(0, size) as k:
        work.find_pivot(k)
        with T.If(pivot[0] != k), T.Then():
            result[b] = -result[b]
            with T.serial(0, size) as j:
                work.swap(a, (k, j), (pivot[0], j))
        result[b] = result[b] * a[k, k]
        # A column of zeros: the product is 0, and there is nothing to divide by.
        with T.If(work.best[0] != 0), T.Then(), T.serial(0, size - k - 1) as below:
            work.value[0] = a[k + 1 + below, k] / a[k, k]
            with T.serial(0, size - k) as j:
                a[k + 1 + below, k + j] = a[k + 1 + below, k + j] - work.value[0] * a[k, k + j]
