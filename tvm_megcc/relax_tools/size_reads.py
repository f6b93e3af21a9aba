"""Calls that read a shape from a tensor of integers, as TVM's virtual machine does."""

from __future__ import annotations

from tvm import relax

from tvm_megcc.relax_tools.calls import packed_name

#: TVM's own function.
BUILTIN = "vm.builtin.tensor_to_shape"


def read_sizes(tensor: relax.Expr, ty: relax.Type) -> relax.Call:
    """Call that gives the shape, of type `ty`, with the elements of a tensor as dims."""
    return relax.op.call_pure_packed(BUILTIN, tensor, ty_args=ty)


def is_size_read(call: relax.Call) -> bool:
    """Whether a call reads sizes from a tensor."""
    return packed_name(call) == BUILTIN
