"""quantize, dequantize: f32 to and from 8 bits by one constant step, in a call that stands alone.

Chains of elementwise operators are one function.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.quantised import holds
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import dtype_of, step_of


def anchors() -> Iterator[Anchor]:
    for op, name, kernel in (
        ("quantize", "quantize", "quantize"),
        ("dequantize", "dequantize", "dequantize"),
        ("astype", "dequantize.cast", "dequantize"),
    ):
        yield anchor_of(f"relax.{op}", name, partial(_between, kernel), elementwise=True)


def _between(op: str, parts: Parts, tail: Tail) -> Request | None:
    """Request of `op` between f32 and 8 bits; a cast has step 1."""
    x, root = parts["x"], parts["root"]
    real, stored = (x, root) if op == "quantize" else (root, x)
    shape, dtype = parts.shape_of(x), dtype_of(stored)
    step = (1.0, 0) if op_name(root) == "relax.astype" else step_of(root)
    if shape is None or step is None or dtype not in EIGHT_BITS or dtype_of(real) != "f32":
        return None
    scale, zero = float(step[0]), step[1]
    if not holds(dtype, zero) or (op == "quantize" and scale <= 0):
        return None
    return Request(op, {"size": product(shape), "scale": scale, "zero": zero}, {"x": x})
