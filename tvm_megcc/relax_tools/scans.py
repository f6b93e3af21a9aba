"""Sums and products of the elements so far, in TE: for CumSum and for ``relax.cumsum``.

Not TVM's own: that writes the first element also where there is none, in front of another tensor.

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


def around(shape: Sequence[Any], axis: int) -> list[Any]:
    """How many elements there are before an axis, along it, and behind it."""
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
    """A scan along one axis of a tensor that is seen as ``[before, along, behind]``.

    Parameters
    ----------
    x : te.Tensor
    parts : sequence of sizes, or te.Tensor
        The three sizes, or ``int64[3]`` with them.
    combine, neutral
        What two elements become, and what goes with any element.
    dtype : str, optional
        Of the result, and what it is computed in; else that of `x`.
    exclusive, reverse : bool
        Whether an element is not part of its own result; whether the last one comes first.
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
            # Rows are a work range where their number does not come from data.
            rows = T.parallel if known else T.serial
            with rows(0, before * behind) as row:
                so_far = T.buffer_proxy(T.alloc_buffer((1,), dtype, scope="local"))
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
