"""Det."""

from __future__ import annotations

from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from ...relax_tools.tir_kernels import local
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.matrices import find_pivot, squares


class Det(OnnxOp):
    """The product of the pivots of Gaussian elimination with row pivoting."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, batch, _ = squares(ctx, inputs)
        return ctx.reshape(ctx.builder.emit_te(_determinants, data), batch)


def _determinants(x: te.Tensor) -> te.Tensor:
    dtype = str(x.dtype.dtype)
    return te.extern(
        [(x.shape[0],)], [x], lambda ins, outs: _kernel(ins[0], outs[0]), dtype=[dtype], name="det"
    )


def _kernel(matrices: Any, out: Any) -> tirx.Stmt:
    count, size = matrices.shape[:2]
    dtype = str(out.ty.dtype)
    with IRBuilder() as builder, T.seq_scope():
        x, result = T.buffer_proxy(matrices), T.buffer_proxy(out)
        a = T.buffer_proxy(T.alloc_buffer((size, size), dtype, scope="global"))
        best, value = (local(dtype) for _ in range(2))
        pivot = local("int64")
        with T.serial(0, count) as b:
            with T.serial(0, size) as i, T.serial(0, size) as j:
                a[i, j] = x[b, i, j]
            result[b] = tirx.const(1, dtype)
            with T.serial(0, size) as k:
                find_pivot(a, k, size, best, value, pivot, dtype)
                with T.If(pivot[0] != k), T.Then():
                    result[b] = -result[b]
                    with T.serial(0, size) as j:
                        value[0] = a[k, j]
                        a[k, j] = a[pivot[0], j]
                        a[pivot[0], j] = value[0]
                result[b] = result[b] * a[k, k]
                # A column of zeros: the product is 0, and there is nothing to divide by.
                with T.If(best[0] != 0), T.Then(), T.serial(0, size - k - 1) as below:
                    value[0] = a[k + 1 + below, k] / a[k, k]
                    with T.serial(0, size - k) as j:
                        a[k + 1 + below, k + j] = a[k + 1 + below, k + j] - value[0] * a[k, k + j]
    return builder.get()
