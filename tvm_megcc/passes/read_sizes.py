"""ReadSizes: ``tensor_to_shape`` becomes the call by which TVM's VM reads sizes from a tensor.

Before: ``s = R.tensor_to_shape(c)``. After: ``s = R.call_pure_packed("vm.builtin.tensor_to_shape",
c, ty_args=R.Shape(ndim=k))``. TVM's own decomposition does the same and gives every size the name
``x``; the model's names are worth more, and names are how we tell sizes apart.
"""

from __future__ import annotations

from tvm import relax

from tvm_megcc.relax_tools.rewriting import Rewriter, on, rewriting_pass
from tvm_megcc.relax_tools.size_reads import read_sizes


@rewriting_pass("tvm_megcc.ReadSizes")
class ReadSizes(Rewriter):
    """Rewrite every ``relax.tensor_to_shape``."""

    @on("relax.tensor_to_shape")
    def _read(self, call: relax.Call) -> relax.Expr:
        return read_sizes(call.args[0], call.ty)
