"""AdjacentAxes: a reduction over scattered axes becomes one for each run of adjacent axes.

    sum(x [N, C, H, W], [0, 2, 3])  ->  sum(sum(x, [2, 3]) [N, C, 1, 1], [0])

Each becomes a kernel of the library, and partial sums round less than one long sum does. The
innermost run goes first. Axes of one element do not separate runs.
"""

from __future__ import annotations

from tvm import relax

from tvm_megcc.fuse.reduction import REDUCE, runs_of
from tvm_megcc.relax_tools.calls import rebuilt, reduced_axes
from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.rewriting import Rewriter, on, rewriting_pass
from tvm_megcc.relax_tools.traits import named


@rewriting_pass("tvm_megcc.AdjacentAxes")
class AdjacentAxes(Rewriter):
    """Split a reduction over scattered axes into one for each run of adjacent axes."""

    @on(*named(" ".join(REDUCE)))
    def _run_by_run(self, call: relax.Call) -> relax.Expr:
        shape = shape_of(call.args[0], self.symbols)
        if not shape or call.attrs.axis is None:
            return call
        axes = reduced_axes(call)
        runs = runs_of(shape, axes)
        if len(runs) < 2:
            return call
        x = call.args[0]
        for run in reversed(runs):
            x = self.emit(rebuilt(call, [x], axis=run, keepdims=True))
        return x if call.attrs.keepdims else relax.op.squeeze(x, axes)
