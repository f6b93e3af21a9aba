"""``Program``: the flat, frozen, printable description between Relax and C.

``lower`` makes a `Program` without addresses, ``memory.place`` gives every arena tensor its
offset, ``codegen_c`` turns it into files. It knows nothing of Relax and nothing of C.

Sizes are ``int`` or, in a program of symbolic shapes, `tvm_megcc.dims.Dim`. Such a program has no
addresses: `memory.place` gives it `Storage` blocks that stand upon one another, and the VM works
out the addresses when the shapes of the inputs change. A `Bundle` holds several programs of one
model, each for some of the shapes.

Example
-------
>>> t = Tensor("x", "f32", (1, 4), Location("input", 0))
>>> t.nbytes
16
"""

from __future__ import annotations

from tvm_megcc.core.program.bands import BandOperand, Images, Patch, Path, Rows, Window
from tvm_megcc.core.program.bundle import Bundle, PortType, Range, Variant, bundle_of, programs_of
from tvm_megcc.core.program.groups import LineBuffer, StreamedGroup, kept_rows, streamed_groups
from tvm_megcc.core.program.live_bytes import LiveBytes, live_parts, shared_by_loops, touches
from tvm_megcc.core.program.liveness import live_steps, loops, regions
from tvm_megcc.core.program.program import Program, Requirement
from tvm_megcc.core.program.sizes import (
    data_symbols,
    largest_sizes,
    sized,
    usual_sizes,
    waits_for_data,
)
from tvm_megcc.core.program.steps import (
    Call,
    Check,
    Copy,
    Draw,
    Else,
    End,
    Feed,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Slide,
    Step,
    Store,
    ends_of,
    operands_of,
    with_operands,
)
from tvm_megcc.core.program.storages import Block, MemoryPlan, Pool, Storage
from tvm_megcc.core.program.tensors import (
    ALIGNMENT,
    Location,
    Port,
    Quantisation,
    Space,
    Tensor,
    Weight,
)

__all__ = [
    "ALIGNMENT",
    "BandOperand",
    "Block",
    "Bundle",
    "Call",
    "Check",
    "Copy",
    "Draw",
    "Else",
    "End",
    "Feed",
    "If",
    "Images",
    "Kernel",
    "Let",
    "LineBuffer",
    "LiveBytes",
    "Load",
    "Location",
    "Loop",
    "MemoryPlan",
    "Patch",
    "Path",
    "Pool",
    "Port",
    "PortType",
    "Program",
    "Quantisation",
    "Range",
    "Requirement",
    "Rows",
    "Slide",
    "Space",
    "Step",
    "Storage",
    "Store",
    "StreamedGroup",
    "Tensor",
    "Variant",
    "Weight",
    "Window",
    "bundle_of",
    "data_symbols",
    "ends_of",
    "kept_rows",
    "largest_sizes",
    "live_parts",
    "live_steps",
    "loops",
    "operands_of",
    "programs_of",
    "regions",
    "shared_by_loops",
    "sized",
    "streamed_groups",
    "touches",
    "usual_sizes",
    "waits_for_data",
    "with_operands",
]
