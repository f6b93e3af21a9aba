"""ChannelsLast: convolutions, pooling and resizing run in NHWC; transposes move down and cancel.

`tvm_megcc.relax_tools.permuted` does the work.
"""

from __future__ import annotations

import tvm

from tvm_megcc.relax_tools.permuted import with_layouts
from tvm_megcc.relax_tools.rewriting import module_pass
from tvm_megcc.relax_tools.spatial import channels_last


@module_pass("tvm_megcc.ChannelsLast")
def ChannelsLast(mod: tvm.IRModule) -> tvm.IRModule:
    """Bring convolutions, pooling and resizing to NHWC, by transposes that mostly cancel."""
    return with_layouts(mod, channels_last)
