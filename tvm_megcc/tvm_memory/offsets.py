"""PrimFuncs that accept tensors at a byte offset.

TVM's packed entry of a PrimFunc checks that each buffer has the ``elem_offset`` its declaration
says, zero by default. A buffer declared with a variable there takes the tensor's own: the entry
reads the variable from the tensor's ``byte_offset`` and the body's indices add it.

Example
-------
>>> bear_offsets(mod["exp"])  # doctest: +SKIP
def exp(x: T.Buffer((4, 8), "float32", elem_offset=x_offset), ...): ...
"""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax, tirx

from tvm_megcc.tvm_memory.buffer_uses import BufferUses


def bear_offsets(func: tirx.PrimFunc) -> tirx.PrimFunc | None:
    """Give every tensor of `func` a variable ``elem_offset``; None where that would be wrong.

    It is wrong where the body does more with a parameter than load, store and declare its regions:
    it takes the bare pointer (for an extern call, or another buffer on the same data), or matches
    a part of it to a buffer with an offset of its own; or where a parameter is an opaque handle.
    """
    buffers = [p for p in func.params if isinstance(p.ty, tirx.BufferType)]
    if any(not isinstance(p.ty, (tirx.BufferType, tvm.ir.PrimType)) for p in func.params):
        return None  # a handle may be a tensor, too
    fixed = []
    for buffer in buffers:
        if isinstance(buffer.elem_offset, tirx.Var):
            continue
        if not _is_zero(buffer.elem_offset) or buffer.scope() not in ("", "global"):
            return None
        if not _has_whole_elements(buffer.ty.dtype):
            return None
        fixed.append(buffer)
    if not fixed or not BufferUses(func.body).only_indexed(buffers):
        return func if not fixed else None
    free = {buffer: _with_offset(buffer) for buffer in fixed}

    def replace(var: tvm.ir.Var) -> tvm.ir.Var:
        return free.get(var, var)

    body = tvm_ffi.structural_map(func.body, (tvm.ir.Var, replace), order="post")
    params = [free.get(p, p) for p in func.params]
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs, func.span)


def called_by_kernels(mod: tvm.IRModule) -> set[str]:
    """Names of the functions that PrimFuncs call: these calls pass pointers, not tensors."""
    found: set[str] = set()

    def note(gvar: relax.GlobalVar) -> None:
        found.add(gvar.name_hint)

    for _, func in mod.functions_items():
        if isinstance(func, tirx.PrimFunc):
            tvm_ffi.structural_walk(func.body, (relax.GlobalVar, note))
    return found


def _with_offset(buffer: tirx.Buffer) -> tirx.Buffer:
    return tirx.decl_buffer(
        buffer.shape,
        buffer.ty.dtype,
        buffer.name,
        strides=buffer.strides,
        elem_offset=tirx.Var(f"{buffer.name}_offset", "int64"),
        scope=buffer.scope(),
        data_alignment=buffer.data_alignment,
        offset_factor=1,
        layout=buffer.layout,
    )


def _is_zero(offset: tirx.PrimExpr | None) -> bool:
    return offset is None or (isinstance(offset, tirx.IntImm) and int(offset) == 0)


def _has_whole_elements(dtype: tvm.ir.PrimType) -> bool:
    """Whether any multiple of the arena's alignment is a whole number of elements."""
    kind = tvm.DataType(str(dtype))
    bits = int(kind.bits * kind.lanes)
    return bits >= 8 and bits & (bits - 1) == 0
