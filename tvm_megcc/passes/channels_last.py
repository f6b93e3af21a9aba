"""ChannelsLast: convolutions, pooling and resizing run in NHWC; transposes move down and cancel.

How is what `tvm_megcc.relax_tools.permuted` says.
"""

from __future__ import annotations

import tvm

from tvm_megcc.relax_tools.permuted import with_layouts
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.spatial import channels_last


@module_pass("tvm_megcc.ChannelsLast")
def ChannelsLast(mod: tvm.IRModule) -> tvm.IRModule:
    """Rewrite every function; see the module's docstring."""
    return with_layouts(mod, channels_last)
