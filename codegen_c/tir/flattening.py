"""Scheduled TIR blocks -> flat loops over one-dimensional buffers, by TVM's own passes."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, StringImm, TensorLoad

from .walk import walk

#: Operations that TVM would simplify as if floats were reals: ``x + c - c``, ``x == x``,
#: ``!(x < y)``. While TVM flattens, they are calls of unknown functions.
_NODES = {
    node.__name__: node
    for node in (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max,
                 tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
}  # fmt: skip
#: Operations that TVM would simplify as if integers did not wrap: ``x / (x * y)``.
_WRAP = (tirx.Add, tirx.Sub, tirx.Mul)
_HIDDEN = "megcc.hidden."


def _hide(e: tvm.ir.Expr) -> tvm.ir.Expr:
    if "float" in str(e.a.ty.dtype) or (isinstance(e, _WRAP) and _is_loaded(e)):
        return tirx.call_pure_extern(str(e.ty.dtype), _HIDDEN + type(e).__name__, e.a, e.b)
    return e


def _hide_cast(e: tirx.Cast) -> tvm.ir.Expr:
    """A cast that wraps: TVM makes no unsigned constant of a negative one, and fails."""
    dtype = str(e.ty.dtype)
    if dtype.startswith("uint"):
        return tirx.call_pure_extern(dtype, _HIDDEN + "Cast", e.value)
    return e


def _is_loaded(e: tvm.ir.Expr) -> bool:
    """Whether an expression reads elements of tensors, not only sizes and loop variables."""
    return any(isinstance(node, TensorLoad) for node in walk(e))


def _show(e: Call) -> tvm.ir.Expr:
    name = e.args[0] if len(e.args) in (2, 3) else None
    if not isinstance(name, StringImm) or not name.value.startswith(_HIDDEN):
        return e
    if len(e.args) == 2:
        return tirx.Cast(e.ty.dtype, e.args[1])
    return _NODES[name.value.removeprefix(_HIDDEN)](e.args[1], e.args[2])


def _show_position(e: Call) -> tvm.ir.Expr:
    return e if "float" in str(e.ty.dtype) else _show(e)


def _with_positions(load: TensorLoad) -> TensorLoad:
    """A load whose positions TVM may simplify and narrow: they are within the tensor."""
    shown = [tvm_ffi.structural_map(at, (Call, _show_position)) for at in load.indices]
    return tirx.BufferLoad(load.source, shown)


def _flattening() -> list[tvm.transform.Pass]:
    # No vectoriser, unroller, storage rewriting or CSE: the C compiler does these, and storage that
    # two buffers share would make their `restrict` pointers lie.
    return [
        tirx.transform.BindTarget(tvm.target.Target("c")),
        s_tir.transform.CanonicalizeLoop(),
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.CompactBufferAllocation(),
        s_tir.transform.LowerMatchBuffer(),
        s_tir.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
        tirx.transform.NarrowDataType(32),
        s_tir.transform.RenormalizeSplitPattern(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
    ]


def lower(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Flatten `func`.

    Returns
    -------
    tirx.PrimFunc
        Nested ``For``, ``BufferStore`` and loads on 1-D buffers, ``Bind``s and ``AllocBuffer``s.
        Loops over constant extents have 32-bit variables, those over symbolic ones may have 64-bit.
    """
    binary = tuple(_NODES.values())
    opaque = tvm_ffi.structural_map(func, (binary, _hide))
    opaque = tvm_ffi.structural_map(opaque, (tirx.Cast, _hide_cast))
    hidden = _run(_flattening(), tvm_ffi.structural_map(opaque, (TensorLoad, _with_positions)))
    finishing = [s_tir.transform.RewriteUnsafeSelect(), tirx.transform.ConvertSSA()]
    return _run(finishing, tvm_ffi.structural_map(hidden, (Call, _show)))


def _run(passes: list[tvm.transform.Pass], func: tirx.PrimFunc) -> tirx.PrimFunc:
    return tvm.transform.Sequential(passes)(tvm.IRModule({"main": func}))["main"]
