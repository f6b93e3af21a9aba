"""NarrowMoves: permuting and reshaping come before widening.

    permute_dims(astype(x, i32) - zero)  ->  astype(permute_dims(x), i32) - zero

A quarter of the bytes is moved, and integer kernels find the widening next to them.
"""

from __future__ import annotations

from tvm import relax

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.relax_tools.calls import op_name, with_args
from tvm_megcc.relax_tools.exprs import dtype_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import PERMUTES


@rewriting_pass("tvm_megcc.NarrowMoves", clean=True)
class NarrowMoves(Rewriter):
    """Permute and reshape 8-bit tensors before they are widened to i32."""

    @on(*PERMUTES - {"relax.flatten"})
    def _narrow(self, move: relax.Call) -> relax.Expr:
        wide = bound(self, move.args[0])
        zero = None
        if op_name(wide) == "relax.subtract" and wide.args[1].ty.ndim == 0:
            zero, wide = wide.args[1], bound(self, wide.args[0])
        if op_name(wide) != "relax.astype" or dtype_of(wide) != "i32":
            return move
        raw = wide.args[0]
        if not isinstance(raw, relax.Var) or dtype_of(raw) not in EIGHT_BITS:
            return move
        moved = with_args(move, [raw, *move.args[1:]])
        made = relax.op.astype(self.emit(moved), "int32")
        return made if zero is None else relax.op.subtract(self.emit(made), zero)
