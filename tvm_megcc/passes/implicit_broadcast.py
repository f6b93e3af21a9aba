"""ImplicitBroadcast: operands lose an expansion that their operator does itself.

``multiply(broadcast_to(x[N, C, 1], [N, C, W]), y[N, C, W])`` -> ``multiply(x, y)``, for every
operator that broadcasts, as long as the result keeps its shape. Exporters write such an Expand in
front of masks and scales; it would be a tensor of its own.
"""

from __future__ import annotations

from tvm import relax

from tvm_megcc.relax_tools.calls import op_name, with_args
from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import BROADCAST


@rewriting_pass("tvm_megcc.ImplicitBroadcast")
class ImplicitBroadcast(Rewriter):
    """Drop ``broadcast_to`` of operands that are broadcast anyway; dead code stays."""

    @on(*BROADCAST)
    def _of_smaller(self, call: relax.Call) -> relax.Expr:
        for position, arg in enumerate(call.args):
            call = self._without(call, position, arg)
        return call

    def _without(self, call: relax.Call, position: int, arg: relax.Expr) -> relax.Call:
        """`call` with an unexpanded argument, if that leaves the result's shape."""
        expanded = bound(self, arg)
        if op_name(expanded) != "relax.broadcast_to":
            return call
        args = list(call.args)
        args[position] = expanded.args[0]
        smaller = self.builder_.normalize(with_args(call, args))
        same = shape_of(smaller, self.symbols) == shape_of(call, self.symbols) is not None
        return smaller if same else call
