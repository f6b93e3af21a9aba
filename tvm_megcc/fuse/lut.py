"""lut: a table of 256 bytes, as `tvm_megcc.passes.byte_tables` makes it.

take(table, astype(x, i32) + 128)           of i8; of u8 without the sum
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.dims import product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.relax_tools.exprs import constant, dtype_of


def anchors() -> Iterator[Anchor]:
    for dtype, first in (("i8", 128), ("u8", 0)):
        table, raw, place = is_const(), wildcard(), is_const()
        wide = is_op("relax.astype")(raw)
        parts, calls = {"table": table, "x": raw}, [wide]
        if first:
            calls.append(is_op("relax.add")(wide, place))
            parts["first"] = place
        pattern = is_op("relax.take")(table, calls[-1])
        build = partial(_table, dtype, first)
        yield Anchor(f"lut.{dtype}", pattern, parts, build, (), tuple(calls))


def _table(dtype: str, first: int, parts: Parts, tail: Tail) -> Request | None:
    shape, values = parts.shape_of(parts["x"]), constant(parts["table"])
    if shape is None or values is None or values.shape != (256,):
        return None
    known = constant(parts["first"]) if first else np.zeros(1, np.int32)
    fits = known is not None and known.size == 1 and known.item() == first
    if not fits or dtype_of(parts["x"]) != dtype or values.dtype not in (np.int8, np.uint8):
        return None
    operands = {"x": parts["x"], "table": np.roll(values, -first)}
    return Request("lut", {"size": product(shape)}, operands)
