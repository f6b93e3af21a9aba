"""ChannelsFirst: whatever layouts a model has, the passes up to ChannelsLast read NCHW and OIHW.

    conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")
      ->  permute_dims(conv2d(permute_dims(x), permute_dims(w)))

and the same for pooling, resizing and other numbers of dims. Models of TFLite are channels last, with
weights as HWIO and HWOI; those of ONNX are channels first, and stay as they are, to the byte. The
transposes move down and cancel, as `tvm_megcc.passes.permuted` says; ChannelsLast makes nothing of
those that are left.
"""

from __future__ import annotations

import tvm

from tvm_megcc.passes.permuted import with_layouts
from tvm_megcc.passes.spatial import channels_first, layouts_of
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import expressions


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ChannelsFirst")
class ChannelsFirst:
    """Rewrite a module that has an operator of another layout; see the module's docstring."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        calls = [expr for _, func in plain_functions(mod) for expr in expressions(func)]
        if all(layouts_of(call) == channels_first(call) for call in calls):
            return mod
        return with_layouts(mod, channels_first)
