"""Cumulative sums and products in TE: for CumSum and ``relax.cumsum``.

TVM's own writes the first element of an empty axis, in front of another tensor.

Example
-------
>>> x = te.placeholder((2, "n", 3))                                     # doctest: +SKIP
>>> scanned(x, around(x.shape, 1), operator.add, 0)                     # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from tvm_megcc.relax_tools.tir_kernels import local


def around(shape: Sequence[Any], axis: int) -> list[Any]:
    """Number of elements before an axis, along it, and behind it."""
    sizes: list[Any] = [tirx.IntImm("int64", 1)] * 3
    for k, size in enumerate(shape):
        part = 0 if k < axis else 1 if k == axis else 2
        sizes[part] = sizes[part] * size
    return sizes


def scanned(
    x: te.Tensor,
    parts: Sequence[Any] | te.Tensor,
    combine: Callable[[Any, Any], Any],
    neutral: int,
    *,
    dtype: str = "",
    exclusive: bool = False,
    reverse: bool = False,
    name: str = "scan",
) -> te.Tensor:
    """Scan along one axis of a tensor with the dims ``[before, along, behind]``.

    Parameters
    ----------
    x : te.Tensor
    parts : sequence of sizes, or te.Tensor
        The three sizes, or ``int64[3]`` with them.
    combine, neutral
        Function of two elements, and its neutral element.
    dtype : str, optional
        Type of the result and of the computation; default: that of `x`.
    exclusive, reverse : bool
        Whether a result leaves out its own element; whether to scan from the last element.
    name : str
        Of the function.

    Returns
    -------
    te.Tensor
        Of the shape of `x`.
    """
    known = isinstance(parts, list)
    own = str(x.dtype.dtype)
    dtype = dtype or own

    def wide(value: Any) -> Any:
        return value if dtype == own else tirx.Cast(dtype, value)

    def kernel(ins: Sequence[Any], outs: Sequence[Any]) -> tirx.Stmt:
        with IRBuilder() as builder:
            data, result = T.buffer_proxy(ins[0]), T.buffer_proxy(outs[0])
            sizes = parts if known else T.buffer_proxy(ins[1])
            before, along, behind = (sizes[k] for k in range(3))
            # Rows are a work range, unless their number comes from data.
            rows = T.parallel if known else T.serial
            with rows(0, before * behind) as row:
                so_far = local(dtype)
                start = row // behind * along * behind + row % behind
                so_far[0] = tirx.const(neutral, dtype)
                with T.serial(0, along) as k:
                    at = start + (along - 1 - k if reverse else k) * behind
                    if exclusive:
                        result[at] = so_far[0]
                    so_far[0] = combine(so_far[0], wide(data[at]))
                    if not exclusive:
                        result[at] = so_far[0]
        return builder.get()

    operands = [x] if known else [x, parts]
    return te.extern([x.shape], operands, kernel, dtype=[dtype], name=name)
