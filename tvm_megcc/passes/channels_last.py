"""ChannelsLast: convolutions, pooling and resizing run in NHWC; transposes move down and cancel.

How is what `tvm_megcc.relax_tools.permuted` says.
"""

from __future__ import annotations

import tvm

from tvm_megcc.relax_tools.permuted import with_layouts
from tvm_megcc.relax_tools.spatial import channels_last


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.ChannelsLast")
class ChannelsLast:
    """Rewrite every function; see the module's docstring."""

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return with_layouts(mod, channels_last)
