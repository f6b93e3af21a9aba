"""quantize: numbers that become 8 bits by one constant step, in a call that stands alone."""

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


def _quantize(parts: Parts, tail: Tail) -> Request | None:
    shape, step, dtype = parts.shape_of(parts["x"]), step_of(parts["root"]), dtype_of(parts["root"])
    if shape is None or step is None or dtype not in EIGHT_BITS or dtype_of(parts["x"]) != "f32":
        return None
    if not step[0] > 0 or not holds(dtype, step[1]):
        return None
    facts = {"size": product(shape), "scale": float(step[0]), "zero": step[1]}
    return Request("quantize", facts, {"x": parts["x"]})
