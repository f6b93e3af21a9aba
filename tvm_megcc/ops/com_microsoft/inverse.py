"""com.microsoft::Inverse."""

from __future__ import annotations

from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import tirx as T

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.matrices import Elimination, eliminated, squares


class Inverse(OnnxOp):
    """Gauss and Jordan's elimination with row pivoting, of every matrix of the batch."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, batch, rows = squares(ctx, inputs)
        return ctx.reshape(ctx.builder.emit_te(_inverses, data), [*batch, rows, rows])


def _inverses(x: te.Tensor) -> te.Tensor:
    return eliminated("inverse", x, x.shape, _inverse)


def _inverse(work: Elimination, x: Any, y: Any, b: Any) -> None:
    a, size, value, pivot = work.a, work.size, work.value, work.pivot
    with T.serial(0, size) as i, T.serial(0, size) as j:
        a[i, j] = x[b, i, j]
        y[b, i, j] = tirx.if_then_else(i == j, tirx.const(1, a.dtype), tirx.const(0, a.dtype))
    with T.serial(0, size) as k:
        work.find_pivot(k)
        with T.If(pivot[0] != k), T.Then(), T.serial(0, size) as j:
            work.swap(a, (k, j), (pivot[0], j))
            work.swap(y, (b, k, j), (b, pivot[0], j))
        # The pivot's row by the pivot, then from all others what makes their column 0.
        value[0] = a[k, k]
        with T.serial(0, size) as j:
            a[k, j] = a[k, j] / value[0]
            y[b, k, j] = y[b, k, j] / value[0]
        with T.serial(0, size) as i, T.If(i != k), T.Then():
            value[0] = a[i, k]
            with T.serial(0, size) as j:
                a[i, j] = a[i, j] - value[0] * a[k, j]
                y[b, i, j] = y[b, i, j] - value[0] * y[b, k, j]
