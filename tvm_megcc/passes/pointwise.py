"""PointwiseProducts: convolutions of one tap by quantised weights are products of their pixels.

    conv2d(x, dequantize(W [OC, IC, 1, 1]))
      ->  permute_dims(matmul(permute_dims(x) [N, H, W, IC], permute_dims(dequantize(W [OC, IC]))))

ChannelsLast makes nothing of the transposes of `x` and of the result. Kernels of products take such
weights as they are (`tvm_megcc.fuse.matmul_wq`); those of convolutions do not.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import constant, dtype_of, make_constant, use_counts
from tvm_megcc.relax_tools.rewriting import cleaned, rewritten
from tvm_megcc.relax_tools.spatial import NCHW_OF_NHWC, NHWC_OF_NCHW


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.PointwiseProducts")
class PointwiseProducts:
    """See the module's docstring."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        uses = sum((use_counts(func) for _, func in plain_functions(mod)), Counter())
        return cleaned(rewritten(mod, _Rewriter(mod, uses)))


@mutator
class _Rewriter(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, uses: Counter[relax.Var]) -> None:
        super().__init__(mod)
        self.uses = uses

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        is_shared = op_name(call) == "relax.nn.conv2d" and self.uses[call.args[1]] > 1
        call = self.visit_expr_post_order(call)
        if is_shared or not _is_pointwise(call):
            return call
        weights = self._matrix(call.args[1])
        if weights is None:
            return call
        emit, op = self.builder_.emit, relax.op
        pixels = emit(op.permute_dims(call.args[0], list(NHWC_OF_NCHW)))
        result = emit(op.matmul(pixels, emit(op.permute_dims(weights))))
        return op.permute_dims(result, list(NCHW_OF_NHWC))

    def _matrix(self, weights: relax.Expr) -> relax.Var | None:
        """Constant weights of 8 bits ``[OC, IC, 1, 1]`` as ``[OC, IC]``."""
        call = self.lookup_binding(weights) if isinstance(weights, relax.Var) else None
        if call is None or op_name(call) != "relax.dequantize":
            return None
        numbers, scale, zero = (constant(arg) for arg in call.args)
        if numbers is None or scale is None or zero is None or numbers.dtype.itemsize > 1:
            return None
        axis = int(call.attrs.axis)
        if numbers.shape[2:] != (1, 1) or (scale.size > 1 and axis > 1):
            return None
        arrays = (numbers.reshape(numbers.shape[:2]), scale, zero)
        made = relax.op.dequantize(*map(make_constant, arrays), axis=0 if scale.size == 1 else axis)
        return self.builder_.emit(made)


def _is_pointwise(call: relax.Call) -> bool:
    """Whether a convolution of f32 reads each pixel once, and all its channels."""
    if op_name(call) != "relax.nn.conv2d":
        return False
    attrs = call.attrs
    ones = [*attrs.strides, attrs.groups]
    return (
        (str(attrs.data_layout), str(attrs.kernel_layout)) == ("NCHW", "OIHW")
        and all(int(one) == 1 for one in ones)
        and not np.any([int(pad) for pad in attrs.padding])
        and dtype_of(call.args[0]) == dtype_of(call.args[1]) == dtype_of(call) == "f32"
    )
