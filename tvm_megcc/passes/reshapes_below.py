"""ReshapesBelow: what follows a permutation's reshape comes before it.

    add(r, reshape(permute_dims(x)))  ->  reshape(add(reshape(r), permute_dims(x)))

Swin's windows go back to their places so. Reshapes are free, and the permutation stands next to the
elementwise operator, whose generated loop reads its operand in that order.
"""

from __future__ import annotations

from tvm import relax

from tvm_megcc.relax_tools.calls import op_name, permutation_of, with_args
from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import ARITHMETIC, PRODUCTS


@rewriting_pass("tvm_megcc.ReshapesBelow", clean=True)
class ReshapesBelow(Rewriter):
    """Compute with two tensors of one shape before a permuted one is reshaped."""

    @on(*ARITHMETIC)
    def _below(self, call: relax.Call) -> relax.Expr:
        shapes = [shape_of(arg, self.symbols) for arg in call.args]
        if shapes[0] is None or shapes[0] != shapes[1]:
            return call
        for permuted, other in ((1, 0), (0, 1)):
            moved = self._permuted(call.args[permuted])
            if moved is None or op_name(bound(self, call.args[other])) in PRODUCTS:
                continue  # a product's kernel adds what follows it
            shape = moved.ty.shape
            args = list(call.args)
            args[permuted] = moved
            args[other] = self.emit(relax.op.reshape(args[other], shape))
            return relax.op.reshape(self.emit(with_args(call, args)), call.ty.shape)
        return call

    def _permuted(self, operand: relax.Expr) -> relax.Expr | None:
        """What a reshape gives another shape, if that is a permutation which keeps lines."""
        reshape = bound(self, operand)
        if op_name(reshape) != "relax.reshape":
            return None
        moved = reshape.args[0]
        call = bound(self, moved)
        if op_name(call) != "relax.permute_dims" or not isinstance(moved, relax.Var):
            return None
        before, after = (shape_of(var, self.symbols) for var in (moved, operand))
        if not before or not after or before[-1] != after[-1]:
            return None
        axes = permutation_of(call)
        return moved if axes[-1] == len(axes) - 1 else None
