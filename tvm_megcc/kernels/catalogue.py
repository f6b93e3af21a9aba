"""All rows of patterns, in the order in which they are tried."""

from __future__ import annotations

from functools import cache

from tvm_megcc.kernels import conv2d, elementwise, matmul, movement, pool2d, reduction, resize2d
from tvm_megcc.kernels.request import Row

_OPERATORS = (conv2d, matmul, pool2d, reduction, resize2d, movement, elementwise)


@cache
def rows() -> dict[str, Row]:
    """Row name -> row; the larger patterns of an operator stand before the smaller ones."""
    return {row.name: row for operator in _OPERATORS for row in operator.rows()}
