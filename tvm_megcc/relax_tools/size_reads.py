"""The call by which sizes are read from a tensor, as TVM's virtual machine does it.

Enters: a tensor of integers. Leaves: the shape whose dims are its elements.
"""

from __future__ import annotations

from tvm import relax

from tvm_megcc.relax_tools.calls import packed_name

#: TVM's own function.
BUILTIN = "vm.builtin.tensor_to_shape"


def read_sizes(tensor: relax.Expr, ty: relax.Type) -> relax.Call:
    """The shape, of type `ty`, that a tensor holds."""
    return relax.op.call_pure_packed(BUILTIN, tensor, ty_args=ty)


def is_size_read(call: relax.Call) -> bool:
    """Whether a call reads sizes from a tensor."""
    return packed_name(call) == BUILTIN
