"""HoldCasts: finite numbers stay finite where HalfPrecision has made a module f16.

Before: ``astype(x, "float16")``. After, in a module that HalfPrecision has marked:

    astype(where(isinf(x), x, clip(x, -65504, 65504)), "float16")

One kernel does all of it. The pass runs just before kernels are chosen, so that no other pass has
to know the form. In a module that had f16 itself a conversion overflows, as ONNX defines it.
"""

from __future__ import annotations

import tvm
from tvm import relax

from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.exprs import dtype_of
from tvm_megcc.relax_tools.rewriting import Rewriter, on, rewriting_pass


def _is_held(mod: tvm.IRModule) -> bool:
    return bool(mod.attrs) and half.HELD in mod.attrs


@rewriting_pass("tvm_megcc.HoldCasts", where=_is_held)
class HoldCasts(Rewriter):
    """Clip finite numbers to the range of f16 where HalfPrecision converts to f16."""

    @on("relax.astype")
    def _held(self, call: relax.Call) -> relax.Expr:
        if (dtype_of(call.args[0]), dtype_of(call)) != ("f32", "f16"):
            return call
        return relax.op.astype(half.held(self.builder_, call.args[0]), half.HALF)
