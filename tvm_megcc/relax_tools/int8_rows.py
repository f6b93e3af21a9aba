"""Weights whose products may round the other operand to int8, for importer, passes and fusion.

``MatMulNBits`` has an attribute for it, ``accuracy_level``; no Relax operator has. A call around
the dequantised weights says it, so that it stays with the weights whatever passes do around them:

    matmul(x, permute_dims(reshape(allowing(dequantize(numbers, scales, zeros)))))

The call is the identity: a product that rounds nothing is right, too. `FoldConstants` drops it
where the weights become floats.

Example
-------
>>> weights = allowing(weights)                                         # doctest: +SKIP
"""

from __future__ import annotations

from functools import cache
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import packed_name

#: Name of the function that TVM's VM calls.
ALLOWED = "tvm_megcc.int8_rows"


def allowing(weights: relax.Expr) -> relax.Call:
    """Call that gives `weights`, whose product may round its other operand to int8 by blocks."""
    return relax.op.call_pure_packed(ALLOWED, weights, ty_args=weights.ty)


def allowed_of(expr: relax.Expr) -> relax.Expr | None:
    """The weights in a call of `allowing`; None for any other expression."""
    return expr.args[1] if packed_name(expr) == ALLOWED else None


@cache
def register() -> None:
    """Make the function known to TVM, for modules that run in ``relax.VirtualMachine``."""

    def run(weights: Any) -> Any:
        # A copy: TVM plans memory as if the argument were dead after the call.
        return weights.copyto(weights.device)

    tvm.register_global_func(ALLOWED, run)
