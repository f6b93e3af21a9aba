"""About how many operations an iteration of a kernel's work range takes.

Enters: the flat TIR of one kernel. Leaves: text over the symbolic dims (see `sizes`), for
`Program.Call.cost`. It decides only whether splitting a call pays, so loops whose extent is not
known count as `UNKNOWN` iterations and every branch as taken.
"""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import Call, TensorLoad

from tvm_megcc.errors import UnsupportedError

from . import c_sizes, sorting
from .c_exprs import ExprPrinter
from .walk import walk

#: Operations of one element read or written, and of a call such as ``exp``, beside what they move.
MOVE, CALL = 4, 16
#: Operations of sorting a line, however long.
SORT = 4096
#: Iterations of a loop whose extent depends on data or on other loops without bound.
UNKNOWN = 16


def unit_cost(
    body: tirx.Stmt, parallel: bool, symbols: dict[tvm.ir.Var, str], exprs: ExprPrinter
) -> str:
    """Operations of one unit of work, whose loop is the outermost one if `parallel`."""
    return _Cost(symbols, exprs, parallel).of(body)


class _Cost:
    def __init__(self, symbols: dict[tvm.ir.Var, str], exprs: ExprPrinter, parallel: bool) -> None:
        self.symbols, self.exprs, self.parallel = symbols, exprs, parallel

    def of(self, s: tirx.Stmt | None) -> str:
        """Cost of a statement as text."""
        match s:
            case tirx.SeqStmt():
                return _sum([self.of(part) for part in s.seq])
            case tirx.For():
                whole = self.parallel and s.kind == tirx.ForKind.PARALLEL
                self.parallel = self.parallel and not whole
                inside = self.of(s.body)
                return inside if whole else _times(self._extent(s.extent), inside)
            case tirx.While():
                return _times(str(UNKNOWN), self.of(s.body))
            case tirx.IfThenElse():
                return _sum([self.of(s.then_case), self.of(s.else_case)])
            case tirx.AttrStmt():
                return self.of(s.body)
            case tirx.BufferStore():
                return str(MOVE + _operations(s.value))
            case tirx.Evaluate():
                return str(SORT if sorting.is_sort(s.value) else _operations(s.value))
        return "0"

    def _extent(self, extent: tvm.ir.Expr) -> str:
        try:
            return c_sizes.product([extent], self.symbols, self.exprs).text
        except UnsupportedError:
            return str(UNKNOWN)


def _operations(value: tvm.ir.Expr) -> int:
    nodes = list(walk(value))
    loads = sum(isinstance(n, TensorLoad) for n in nodes)
    calls = sum(isinstance(n, Call) for n in nodes)
    return MOVE * loads + CALL * calls


def _sum(parts: list[str]) -> str:
    known = sum(int(p) for p in parts if p.isdigit())
    others = [p for p in parts if not p.isdigit()]
    return f"({' + '.join([str(known), *others])})" if others else str(known)


def _times(extent: str, inside: str) -> str:
    if extent.isdigit() and inside.isdigit():
        return str(int(extent) * int(inside))
    return "0" if inside == "0" else f"({extent} * {inside})"
