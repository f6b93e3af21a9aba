"""Count of a module's multiply-adds, by the type of their operands.

Enters: a function and its matches (`tvm_megcc.fuse.match`). Leaves: counts. Calls of integer
kernels count as 8 bits: in Relax their operands are widened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod

from tvm import relax

from tvm_megcc.dims import typical
from tvm_megcc.fuse.match import Match
from tvm_megcc.kernels.call_work import multiply_adds as of_operator
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import dtype_of, expressions, shape_of
from tvm_megcc.relax_tools.shape_exprs import symbols_of
from tvm_megcc.relax_tools.traits import MATMUL, PRODUCTS


def multiply_adds(func: relax.Function, matches: Iterable[Match]) -> Counter[str]:
    """Element type -> multiply-adds of one run of a function."""
    symbols = symbols_of(func)
    found: Counter[str] = Counter()
    for expr in expressions(func):
        name = op_name(expr)
        if name not in PRODUCTS:
            continue
        shapes = [shape_of(e, symbols) for e in (*expr.args[:2], expr)]
        if None not in shapes:
            sizes = [[typical(d) for d in shape or ()] for shape in shapes]
            found[dtype_of(expr.args[0])] += _products(name, expr, *sizes)
    for match in matches:
        if match.request.op in _INTEGER:
            number = typical(of_operator(match.request.op, match.request.facts))
            found["i32"] -= number
            found["i8"] += number
    return Counter({dtype: number for dtype, number in found.items() if number > 0})


#: Operators of 8-bit integers.
_INTEGER = frozenset(("qconv2d", "qmatmul"))


def _products(name: str, call: relax.Call, data: list[int], w: list[int], out: list[int]) -> int:
    if name == MATMUL:
        return prod(out) * data[-1] if data else 0
    layout = str(call.attrs.kernel_layout)
    if "transpose" in name:
        return prod(data) * prod(w) // max(1, w[layout.index("I")])
    return prod(out) * prod(w) // max(1, w[layout.index("O")])
