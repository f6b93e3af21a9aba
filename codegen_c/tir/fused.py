"""Products and sums that are rounded once: ``a * b + c`` becomes a call of ``fma``.

C compilers do so where the machine has an instruction for it, so that a result's last bit depends
on the machine. Where a model measures a range when it runs, that bit decides on the bytes that are
made of it: then generated kernels say it, and give the same numbers everywhere.
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx

#: Attribute of a function that is to be compiled so.
FUSED = "tvm_megcc.fused_products"


def with_fused_products(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """The function, flattened, with its sums of a product and something else in one call each."""
    return tvm_ffi.structural_map(func, ((tirx.Add, tirx.Sub), _fused))


def _fused(e: tvm.ir.Expr) -> tvm.ir.Expr:
    if str(e.ty.dtype) != "float32":  # what is quantised is f32
        return e
    minus = tirx.FloatImm("float32", -1.0)
    is_sum = isinstance(e, tirx.Add)
    if isinstance(e.b, tirx.Mul):
        factor = e.b.a if is_sum else tirx.Mul(e.b.a, minus)
        return _fma(factor, e.b.b, e.a)
    if isinstance(e.a, tirx.Mul):
        return _fma(e.a.a, e.a.b, e.b if is_sum else tirx.Mul(e.b, minus))
    return e


def _fma(a: tvm.ir.Expr, b: tvm.ir.Expr, c: tvm.ir.Expr) -> tvm.ir.Expr:
    return tirx.call_pure_extern("float32", "fma", a, b, c)
