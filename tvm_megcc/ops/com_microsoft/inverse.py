"""com.microsoft::Inverse."""

from __future__ import annotations

from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from ...relax_tools.tir_kernels import local
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.matrices import find_pivot, squares


class Inverse(OnnxOp):
    """Gauss and Jordan's elimination with row pivoting, of every matrix of the batch."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, batch, rows = squares(ctx, inputs)
        return ctx.reshape(ctx.builder.emit_te(_inverses, data), [*batch, rows, rows])


def _inverses(x: te.Tensor) -> te.Tensor:
    dtype = str(x.dtype.dtype)
    return te.extern(
        [x.shape], [x], lambda ins, outs: _kernel(ins[0], outs[0]), dtype=[dtype], name="inverse"
    )


def _kernel(matrices: Any, out: Any) -> tirx.Stmt:
    count, size = matrices.shape[:2]
    dtype = str(out.ty.dtype)
    with IRBuilder() as builder, T.seq_scope():
        x, y = T.buffer_proxy(matrices), T.buffer_proxy(out)
        a = T.buffer_proxy(T.alloc_buffer((size, size), dtype, scope="global"))
        best, value = (local(dtype) for _ in range(2))
        pivot = local("int64")
        with T.serial(0, count) as b:
            with T.serial(0, size) as i, T.serial(0, size) as j:
                a[i, j] = x[b, i, j]
                y[b, i, j] = tirx.if_then_else(i == j, tirx.const(1, dtype), tirx.const(0, dtype))
            with T.serial(0, size) as k:
                find_pivot(a, k, size, best, value, pivot, dtype)
                with T.If(pivot[0] != k), T.Then(), T.serial(0, size) as j:
                    value[0] = a[k, j]
                    a[k, j] = a[pivot[0], j]
                    a[pivot[0], j] = value[0]
                    value[0] = y[b, k, j]
                    y[b, k, j] = y[b, pivot[0], j]
                    y[b, pivot[0], j] = value[0]
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
    return builder.get()
