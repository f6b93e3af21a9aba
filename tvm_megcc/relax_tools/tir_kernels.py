"""Kernels that are written in TIR, statement by statement, and memory that they work with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T


def computed(
    name: str,
    operands: Sequence[te.Tensor],
    results: Sequence[tuple[Sequence[Any], str]],
    body: Callable[..., None],
) -> Any:
    """The tensor that one kernel computes, or the list of them.

    Parameters
    ----------
    name : str
    operands : sequence of te.Tensor
    results : sequence of (shape, dtype)
    body : callable
        Emits the kernel's statements; called with the buffers of operands and results.
    """

    def kernel(ins: Sequence[Any], outs: Sequence[Any]) -> tirx.Stmt:
        with IRBuilder() as builder, T.seq_scope():
            body(*map(T.buffer_proxy, (*ins, *outs)))
        return builder.get()

    shapes, dtypes = zip(*results, strict=True)
    return te.extern(list(shapes), list(operands), kernel, name, dtype=list(dtypes))


def local(dtype: str = "int64", size: int = 1) -> Any:
    """A variable of a kernel, as a buffer of one element; or of several."""
    return T.buffer_proxy(T.alloc_buffer((size,), dtype, scope="local"))
