"""Memory that a kernel in TIR works with."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T


def local(dtype: str = "int64", size: int = 1) -> Any:
    """A variable of a kernel, as a buffer of one element; or of several."""
    return T.buffer_proxy(T.alloc_buffer((size,), dtype, scope="local"))
