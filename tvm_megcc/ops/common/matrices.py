"""Batches of square matrices, and the choice of pivots for elimination."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size, product
from .context import Context
from .inputs import Inputs


def squares(ctx: Context, inputs: Inputs) -> tuple[relax.Expr, list[Size], Size]:
    """The first operand as ``[count, size, size]``, its leading dims, and the size."""
    *batch, rows, columns = inputs.shape(0)
    data = ctx.cast(inputs[0], [*batch, rows, rows]) if rows != columns else inputs[0]
    return ctx.reshape(data, [product(batch), rows, rows]), batch, rows


def find_pivot(a: Any, k: Any, size: Any, best: Any, value: Any, pivot: Any, dtype: str) -> None:
    """Let ``pivot`` be the row, from ``k`` on, of column ``k``'s largest magnitude, ``best``."""
    best[0] = tirx.const(-1, dtype)
    pivot[0] = tirx.Cast("int64", k)
    with T.serial(0, size - k) as below:
        value[0] = tirx.abs(a[k + below, k])
        with T.If(value[0] > best[0]), T.Then():
            best[0] = value[0]
            pivot[0] = tirx.Cast("int64", k + below)
