"""Rows of a quantised table in float, as a function of TIR that is called by name.

The body says what it computes and runs wherever TVM runs; fusion finds the call by the function's
name and gives it to a kernel, which reads the table as a product by the same numbers has it packed.

Example
-------
>>> block_of("megcc_table_rows_32_1")
32
"""

from __future__ import annotations

import re
from typing import Any

from tvm import relax, te, tirx

_NAME = re.compile(r"megcc_table_rows_(\d+)_\d*")


def block_of(name: str) -> int | None:
    """Numbers that share a scale in calls of a function of `rows`; None for other names."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def rows(
    builder: relax.BlockBuilder, table: relax.Expr, index: relax.Expr, scales: relax.Expr,
    zeros: relax.Expr, block: int,
) -> relax.Var:  # fmt: skip
    """Rows of a table, less their zero points, times their scales.

    Parameters
    ----------
    builder : relax.BlockBuilder
    table : relax.Expr
        Integers of 8 bits ``[N, K]``.
    index : relax.Expr
        Any shape; outside of ``[0, N)`` the nearest row counts.
    scales, zeros : relax.Expr
        ``[N, ceil(K / block)]``, zeros in the table's type.
    block : int
        Numbers of a row that share a scale.
    """

    def taken(table: te.Tensor, index: te.Tensor, scales: te.Tensor, zeros: te.Tensor) -> te.Tensor:
        count, depth = table.shape

        def element(*at: tirx.Var) -> Any:
            place = index[at[:-1]]
            least, most = tirx.const(0, index.dtype), tirx.Cast(index.dtype, count - 1)
            row, k = tirx.max(tirx.min(place, most), least), at[-1]
            part = tirx.floordiv(k, block)
            number, zero = (tirx.Cast(scales.dtype, a) for a in (table[row, k], zeros[row, part]))
            return (number - zero) * scales[row, part]

        return te.compute([*index.shape, depth], element, name="taken")

    name = f"megcc_table_rows_{block}_"
    return builder.emit_te(taken, table, index, scales, zeros, primfunc_name_hint=name)
