"""Simpler forms of a choice between two values (``Select``, ``if_then_else``).

Enters: its condition and its two values. Leaves: a simpler form to print, where there is one.
TVM guards every choice whose values are loaded, as some guard a subscript; C compilers do not
vectorise a loop with a load that may not happen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad

from .c_scalars import is_float
from .indices import COMPARE, dtype_of
from .walk import name_of, walk

#: Nodes that compute without a trap on any operands: no integer division, no call.
_FREE = (TensorLoad, tvm.ir.Var, tirx.FloatImm, tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min,
         tirx.Max)  # fmt: skip


def parts_of(e: tvm.ir.Expr) -> tuple[tvm.ir.Expr, tvm.ir.Expr, tvm.ir.Expr] | None:
    """The condition of a choice and its two values; None of another expression."""
    if isinstance(e, tirx.Select):
        return e.condition, e.true_value, e.false_value
    return tuple(e.args) if name_of(e) == "if_then_else" else None


def extreme(condition: tvm.ir.Expr, yes: tvm.ir.Expr, no: tvm.ir.Expr) -> str:
    """``max`` for ``yes > no ? yes : no``, ``min`` for the other; "" for another choice."""
    if not isinstance(condition, (tirx.GT, tirx.LT)):
        return ""
    same, above = tvm_ffi.structural_equal, isinstance(condition, tirx.GT)
    if same(condition.a, yes) and same(condition.b, no):
        return "max" if above else "min"
    if same(condition.a, no) and same(condition.b, yes):
        return "min" if above else "max"
    return ""


def held(condition: tvm.ir.Expr, yes: tvm.ir.Expr, no: tvm.ir.Expr) -> bool:
    """Whether a choice clamps finite numbers of `yes` to f16's range, as HoldCasts writes it."""
    if dtype_of(yes) != "float32" or not isinstance(no, tirx.Max):
        return False
    asked, most = truth(condition), tirx.const(float(np.finfo(np.float16).max), "float32")
    want = tirx.Max(tirx.Min(yes, most), -most)
    same = tvm_ffi.structural_equal
    return same(no, want) and same(condition if asked is None else asked, tirx.isinf(yes))


def truth(e: tvm.ir.Expr) -> tvm.ir.Expr | None:
    """The bool behind ``0 < int(bool)``, as TVM writes the condition of a ``where``; else None.

    No compiler sees through the widening, and none vectorises the loop around it.
    """
    if not isinstance(e, (tirx.LT, tirx.NE)) or not isinstance(e.a, tirx.IntImm):
        return None
    if int(e.a.value) != 0 or not isinstance(e.b, tirx.Cast) or dtype_of(e.b.value) != "bool":
        return None
    return None if is_float(dtype_of(e.b)) else e.b.value


def is_of_data(condition: tvm.ir.Expr, yes: tvm.ir.Expr, no: tvm.ir.Expr) -> bool:
    """Whether both values may be computed, whichever is chosen.

    The condition compares loaded floats with one another and with constants; no subscript holds
    a loaded value. So no subscript depends on what the condition says: it is in range either way.
    """
    asked = truth(condition)
    asked = condition if asked is None else asked
    if type(asked) not in COMPARE:
        return False
    values = [asked.a, asked.b, yes, no]
    return all(_is_free(value) for value in values)


def _is_free(value: tvm.ir.Expr) -> bool:
    if not is_float(dtype_of(value)):
        return False
    return all(
        isinstance(node, _FREE) and is_float(dtype_of(node)) for node in _outside_subscripts(value)
    ) and not any(isinstance(node, TensorLoad) for node in _subscripts(value))


def _outside_subscripts(value: tvm.ir.Expr) -> Iterator[tvm.ir.Expr]:
    stack = [value]
    while stack:
        here = stack.pop()
        yield here
        if not isinstance(here, (TensorLoad, tvm.ir.Var, tirx.FloatImm)) and hasattr(here, "a"):
            stack += [here.a, here.b]


def _subscripts(value: tvm.ir.Expr) -> Iterator[object]:
    for node in walk(value):
        if isinstance(node, TensorLoad):
            for index in node.indices:
                yield from walk(index)
