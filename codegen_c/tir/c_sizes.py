"""Sizes of temporaries and work ranges: a constant, or an expression over the symbolic dims.

A `Size` has two spellings over the dims ``s0, s1, ...``: ``text`` is Python (``+ - * // %``,
``max``, ``min``, ``lt``, ``eq``, brackets; see `evaluate`), ``c`` the same in C.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import tvm
from tvm import tirx

from ... import dims
from .walk import variables

if TYPE_CHECKING:
    from .c_exprs import ExprPrinter

_INFIX = {tirx.Add: "+", tirx.Sub: "-", tirx.Mul: "*", tirx.FloorDiv: "//", tirx.FloorMod: "%"}
_COMPARE = {
    tirx.LT: "lt({a}, {b})",
    tirx.GT: "lt({b}, {a})",
    tirx.LE: "(1 - lt({b}, {a}))",
    tirx.GE: "(1 - lt({a}, {b}))",
    tirx.EQ: "eq({a}, {b})",
    tirx.NE: "(1 - eq({a}, {b}))",
}
_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Size:
    """`value` when constant, else None; the spellings always."""

    value: int | None
    text: str
    c: str


def of(value: int) -> Size:
    """A constant."""
    return Size(value, str(value), str(value))


def product(extents: list[tvm.ir.Expr], symbols: dict[tvm.ir.Var, str], exprs: ExprPrinter) -> Size:
    """Number of elements of a shape."""
    total = elements(_over_dims(extent, symbols, exprs) for extent in extents)
    total = exprs.analyzer.simplify(total)
    if isinstance(total, tirx.IntImm):
        return of(int(total.value))
    held, exprs.quotients = exprs.quotients, {}  # sizes stand in front of what is held in loops
    text = exprs.index(total)
    exprs.quotients = held
    return Size(None, _python(total, symbols), text)


def elements(extents: Iterable[tvm.ir.Expr]) -> tvm.ir.Expr:
    """The product of `extents`, as int64."""
    total: tvm.ir.Expr = tirx.const(1, "int64")
    for extent in extents:
        total = total * tirx.Cast("int64", extent)
    return total


def _over_dims(
    extent: tvm.ir.Expr, symbols: dict[tvm.ir.Var, str], exprs: ExprPrinter
) -> tvm.ir.Expr:
    """`extent`, or its largest value where it depends on a loop."""
    used = variables(extent)
    if all(v in symbols for v in used) and exprs.is_index(extent):
        return extent
    bound = int(exprs.analyzer.const_int_bound(extent).max_value)
    if bound < _LIMIT:
        return tirx.const(bound, "int64")
    raise exprs.unsupported("the size of a temporary depends on more than the input shapes")


def _python(e: tvm.ir.Expr, symbols: dict[tvm.ir.Var, str]) -> str:
    if isinstance(e, tirx.IntImm):
        return str(e.value)
    if isinstance(e, tvm.ir.Var):
        return symbols[e]
    if isinstance(e, tirx.Cast):
        return _python(e.value, symbols)
    a, b = _python(e.a, symbols), _python(e.b, symbols)
    if type(e) in _INFIX:
        return f"({a} {_INFIX[type(e)]} {b})"
    if type(e) in _COMPARE:
        return _COMPARE[type(e)].format(a=a, b=b)
    if isinstance(e, (tirx.Min, tirx.Max)):
        return f"{'min' if isinstance(e, tirx.Min) else 'max'}({a}, {b})"
    # Other operations that is_index admits are C's division.
    sign = "//" if isinstance(e, tirx.Div) else "%"
    return f"({a} {sign} {b})"


def evaluate(expression: str, values: Sequence[dims.Size]) -> dims.Size:
    """Value of a `Size.text` for given dims, in order of ``s0, s1, ...``."""
    names: dict[str, object] = {f"s{k}": v for k, v in enumerate(values)}
    scope = {
        "__builtins__": {},
        "min": dims.minimum,
        "max": dims.maximum,
        "lt": partial(dims.compare, "lt"),
        "eq": partial(dims.compare, "eq"),
    }
    value: dims.Size = eval(expression, scope, names)  # noqa: S307 - made by `product`
    return value
