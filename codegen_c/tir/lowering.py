"""Scheduled TIR blocks -> flat loops over one-dimensional buffers, by TVM's own passes."""

from __future__ import annotations

import tvm
from tvm import s_tir, tirx


def _passes() -> list[tvm.transform.Pass]:
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
        s_tir.transform.RewriteUnsafeSelect(),
        tirx.transform.ConvertSSA(),
    ]


def lower(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Flatten `func`.

    Returns
    -------
    tirx.PrimFunc
        Nested ``For``, ``BufferStore`` and loads on 1-D buffers, ``Bind``s and ``AllocBuffer``s.
        Loops over constant extents have 32-bit variables, those over symbolic ones may have 64-bit.
    """
    mod = tvm.IRModule({"main": func})
    return tvm.transform.Sequential(_passes())(mod)["main"]
