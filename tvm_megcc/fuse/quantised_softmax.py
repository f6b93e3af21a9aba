"""qsoftmax: the softmax of an 8-bit tensor that is quantised again.

quantize(softmax(dequantize(x)))
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tvm.relax.dpl import is_op

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import product
from tvm_megcc.errors import InputError
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.quantised import dequantised
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.fuse.rescale import limits, quantised
from tvm_megcc.relax_tools.exprs import dtype_of, step_of

#: 1 in the table of a softmax in integers, and the least scale of its results: op/qsoftmax.h.
UNIT = 1 << 30
LEAST_SCALE = 2.0**-20


def anchors() -> Iterator[Anchor]:
    raw, real = dequantised()
    pattern, parts = is_op("relax.nn.softmax")(real), {"x": raw, "real": real}
    yield Anchor("qsoftmax", pattern, parts, _softmax, (quantised,), (real,))


def _softmax(parts: Parts, tail: Tail) -> Request | None:
    shape, step = parts.shape_of(parts["x"]), step_of(parts["real"])
    held = None if tail.stored is None else limits(tail)
    if not shape or step is None or held is None or dtype_of(parts["x"]) not in EIGHT_BITS:
        return None
    axis = int(parts["root"].attrs.axis) % len(shape)
    if not step[0] > 0:
        return None
    table = np.exp(-np.arange(256) * np.float64(step[0]))
    if parts.preference.softmax == "integer":
        if not LEAST_SCALE <= held[0] < np.inf:
            raise InputError(
                f"softmax {parts.preference.softmax!r}: an output's scale is {held[0]:g}, and"
                f" {LEAST_SCALE:g} is the least; leave out --softmax integer"
            )
        table = np.rint(table * UNIT).astype(np.int32)
    else:
        table = table.astype(np.float32)
    facts = {
        "outer": product(shape[:axis]), "axis": shape[axis], "inner": product(shape[axis + 1 :]),
        "y_scale": float(held[0]),
    }  # fmt: skip
    return Request("qsoftmax", {**facts, **held[1]}, {"x": parts["x"], "table": table})
