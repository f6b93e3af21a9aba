"""PointwiseProducts: convolutions of one tap by quantised weights are products of their pixels.

    conv2d(x, dequantize(W [OC, IC, 1, 1]))
      ->  permute_dims(matmul(permute_dims(x) [N, H, W, IC], permute_dims(dequantize(W [OC, IC]))))

ChannelsLast removes the transposes of `x` and of the result. Kernels of products take quantised
weights (`tvm_megcc.fuse.matmul_wq`); those of convolutions do not.
"""

from __future__ import annotations

import numpy as np
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import constant, dtype_of, make_constant, use_counts
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.spatial import NCHW_OF_NHWC, NHWC_OF_NCHW


@rewriting_pass("tvm_megcc.PointwiseProducts", clean=True)
class PointwiseProducts(Rewriter):
    """Replace 1x1 convolutions by quantised weights by matrix products."""

    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        self.uses = use_counts(func)

    @on("relax.nn.conv2d")
    def _product(self, call: relax.Call) -> relax.Expr:
        if self.uses[self.given.args[1]] > 1 or not _is_pointwise(call):
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
        call = bound(self, weights)
        if op_name(call) != "relax.dequantize":
            return None
        numbers, scale, zero = (constant(arg) for arg in call.args)
        if numbers is None or scale is None or zero is None or numbers.dtype.itemsize > 1:
            return None
        axis = int(call.attrs.axis)
        if numbers.shape[2:] != (1, 1) or (scale.size > 1 and axis > 1):
            return None
        arrays = (numbers.reshape(numbers.shape[:2]), scale, zero)
        made = relax.op.dequantize(*map(make_constant, arrays), axis=0 if scale.size == 1 else axis)
        return self.emit(made)


def _is_pointwise(call: relax.Call) -> bool:
    """Whether a convolution of f32 has stride 1, one group and no padding."""
    attrs = call.attrs
    ones = [*attrs.strides, attrs.groups]
    return (
        (str(attrs.data_layout), str(attrs.kernel_layout)) == ("NCHW", "OIHW")
        and all(int(one) == 1 for one in ones)
        and not np.any([int(pad) for pad in attrs.padding])
        and dtype_of(call.args[0]) == dtype_of(call.args[1]) == dtype_of(call) == "f32"
    )
