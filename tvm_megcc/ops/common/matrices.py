"""Batches of square matrices, and elimination with row pivoting in each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size, product
from ...relax_tools.tir_kernels import computed, local
from .context import Context
from .inputs import Inputs


def squares(ctx: Context, inputs: Inputs) -> tuple[relax.Expr, list[Size], Size]:
    """The first operand as ``[count, size, size]``, its leading dims, and the size."""
    *batch, rows, columns = inputs.shape(0)
    data = ctx.cast(inputs[0], [*batch, rows, rows]) if rows != columns else inputs[0]
    return ctx.reshape(data, [product(batch), rows, rows]), batch, rows


class Elimination:
    """The buffers of a kernel that eliminates in matrices of one size.

    Attributes
    ----------
    a : buffer
        The matrix at hand.
    best, value, pivot : buffer
        Variables: the pivot's magnitude, an element, and the pivot's row.
    """

    def __init__(self, size: Any, dtype: str) -> None:
        self.size = size
        self.a = T.buffer_proxy(T.alloc_buffer((size, size), dtype, scope="global"))
        self.best, self.value, self.pivot = local(dtype), local(dtype), local("int64")

    def find_pivot(self, k: Any) -> None:
        """Let ``pivot`` be the row, from ``k`` on, of column ``k``'s largest magnitude."""
        self.best[0] = tirx.const(-1, self.a.dtype)
        self.pivot[0] = tirx.Cast("int64", k)
        with T.serial(0, self.size - k) as below:
            self.value[0] = tirx.abs(self.a[k + below, k])
            with T.If(self.value[0] > self.best[0]), T.Then():
                self.best[0] = self.value[0]
                self.pivot[0] = tirx.Cast("int64", k + below)

    def swap(self, rows: Any, one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
        """Exchange the elements of `rows` at two places."""
        self.value[0] = rows[one]
        rows[one] = rows[other]
        rows[other] = self.value[0]


def eliminated(
    name: str,
    x: te.Tensor,
    shape: Sequence[Any],
    body: Callable[[Elimination, Any, Any, Any], None],
) -> Any:
    """Compute a tensor of `shape` from each matrix ``b`` of `x` by ``body(work, x, result, b)``."""
    dtype = str(x.dtype.dtype)

    def kernel(x: Any, result: Any) -> None:
        count, size = x.shape[:2]
        work = Elimination(size, dtype)
        with T.serial(0, count) as b:
            body(work, x, result, b)

    return computed(name, [x], [(shape, dtype)], kernel)
