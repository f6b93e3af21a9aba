"""Sizes of temporaries and work ranges: a constant, or an expression over the symbolic dims.

The text of a `Size` reads the same in C and in Python when the dims are not negative: names ``s0, s1,
...``, ``+ - *``, brackets, and ``/`` for floor division (see `evaluate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tvm
from tvm import tirx

if TYPE_CHECKING:
    from .exprs import ExprPrinter


@dataclass(frozen=True)
class Size:
    """`value` when constant, else None; `text` always."""

    value: int | None
    text: str


def product(extents: list, symbols: dict[tvm.ir.Var, str], exprs: ExprPrinter) -> Size:
    """Number of elements of a shape."""
    total: tvm.ir.Expr = tirx.const(1, "int64")
    for extent in extents:
        total = total * tirx.Cast("int64", extent)
    total = exprs.analyzer.simplify(total)
    if isinstance(total, tirx.IntImm):
        return Size(int(total.value), str(total.value))
    return Size(None, text(total, symbols, exprs))


def text(e: tvm.ir.Expr, symbols: dict[tvm.ir.Var, str], exprs: ExprPrinter) -> str:
    """Spell a size over the symbolic dims."""
    if isinstance(e, tirx.IntImm):
        return str(e.value)
    if isinstance(e, tvm.ir.Var) and e in symbols:
        return symbols[e]
    if isinstance(e, tirx.Cast):
        return text(e.value, symbols, exprs)
    signs = {tirx.Add: "+", tirx.Sub: "-", tirx.Mul: "*", tirx.FloorDiv: "/", tirx.Div: "/"}
    if type(e) in signs:
        a, b = text(e.a, symbols, exprs), text(e.b, symbols, exprs)
        return f"({a} {signs[type(e)]} {b})"
    bound = exprs.analyzer.const_int_bound(e).max_value
    if bound < 2**31:
        return str(int(bound))
    raise exprs.unsupported("the size of a temporary depends on more than the input shapes")


def evaluate(expression: str, values: Sequence[int]) -> int:
    """Value of a `Size.text` for given dims, in order of ``s0, s1, ...``."""
    names = {f"s{k}": int(v) for k, v in enumerate(values)}
    return int(eval(expression.replace("/", "//"), {"__builtins__": {}}, names))
