"""Which operator, or which function outside of the module, an expression calls."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax


def op_name(expr: Any) -> str:
    """Name of the operator that an expression calls, as ``relax.add``; "" for any other."""
    if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
        return str(expr.op.name)
    return ""


def packed_name(expr: Any) -> str:
    """Name of the function that a ``call_pure_packed`` calls; "" for any other expression."""
    is_packed = op_name(expr) == "relax.call_pure_packed"
    return str(expr.args[0].global_symbol) if is_packed else ""
