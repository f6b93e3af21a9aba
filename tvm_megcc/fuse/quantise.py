"""quantize, dequantize: numbers that become 8 bits by one constant step, or are made of them.

Each in a call that stands alone: chains of elementwise operators are one function.
"""

from __future__ import annotations

from collections.abc import Iterator

from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.quantised import holds
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.relax_tools.exprs import dtype_of, step_of


def anchors() -> Iterator[Anchor]:
    x = wildcard()
    pattern = is_op("relax.quantize")(x, is_const(), is_const())
    yield Anchor("quantize", pattern, {"x": x}, _quantize, elementwise=True)
    x = wildcard()
    pattern = is_op("relax.dequantize")(x, is_const(), is_const())
    yield Anchor("dequantize", pattern, {"x": x}, _dequantize, elementwise=True)
    x = wildcard()
    yield Anchor("dequantize.cast", is_op("relax.astype")(x), {"x": x}, _cast, elementwise=True)


def _quantize(parts: Parts, tail: Tail) -> Request | None:
    shape, step, dtype = parts.shape_of(parts["x"]), step_of(parts["root"]), dtype_of(parts["root"])
    if shape is None or step is None or dtype not in EIGHT_BITS or dtype_of(parts["x"]) != "f32":
        return None
    if not step[0] > 0 or not holds(dtype, step[1]):
        return None
    facts = {"size": product(shape), "scale": float(step[0]), "zero": step[1]}
    return Request("quantize", facts, {"x": parts["x"]})


def _dequantize(parts: Parts, tail: Tail) -> Request | None:
    shape, step, dtype = parts.shape_of(parts["x"]), step_of(parts["root"]), dtype_of(parts["x"])
    if shape is None or step is None or dtype not in EIGHT_BITS or dtype_of(parts["root"]) != "f32":
        return None
    if not holds(dtype, step[1]):
        return None
    facts = {"size": product(shape), "scale": float(step[0]), "zero": step[1]}
    return Request("dequantize", facts, {"x": parts["x"]})


def _cast(parts: Parts, tail: Tail) -> Request | None:
    """8 bits whose step is 1."""
    shape, dtype = parts.shape_of(parts["x"]), dtype_of(parts["x"])
    if shape is None or dtype not in EIGHT_BITS or dtype_of(parts["root"]) != "f32":
        return None
    return Request(
        "dequantize", {"size": product(shape), "scale": 1.0, "zero": 0}, {"x": parts["x"]}
    )
