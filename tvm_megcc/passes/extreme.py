"""How ``relax.max`` and ``relax.min`` of floats become TIR here: a NaN anywhere is the result.

TVM's own lose a NaN that does not come first, and begin with the lowest finite number, which they
leave where a line holds only infinities.
"""

from __future__ import annotations

import math
from typing import Any

from tvm import relax, te, tirx, topi


def _legalise(largest: bool, bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    x, keep = call.args[0], bool(call.attrs.keepdims)
    rank = len(x.ty.shape.values)
    given = call.attrs.axis
    axes = list(range(rank)) if given is None else sorted(int(a) % rank for a in given)
    hint = "max" if largest else "min"
    if "float" not in str(x.ty.dtype):
        function = topi.max if largest else topi.min
        return bb.call_te(function, x, axes, keep, primfunc_name_hint=hint)
    return bb.call_te(_extreme, x, axes, keep, largest, primfunc_name_hint=hint)


def _extreme(x: te.Tensor, axes: list[int], keep: bool, largest: bool) -> te.Tensor:
    def better(a: Any, b: Any) -> Any:
        first = tirx.any(a > b if largest else a < b, tirx.isnan(a))
        return tirx.Select(first, a, b)

    dtype = str(x.dtype.dtype)
    reducer = te.comm_reducer(
        better, lambda _: tirx.const(-math.inf if largest else math.inf, dtype), name="extreme"
    )
    gone = [te.reduce_axis((0, x.shape[axis]), name=f"k{axis}") for axis in axes]
    left = [1 if k in axes else d for k, d in enumerate(x.shape) if keep or k not in axes]

    def element(*at: Any) -> Any:
        place = iter(v for k, v in enumerate(at) if not keep or k not in axes)
        index = [gone[axes.index(k)] if k in axes else next(place) for k in range(len(x.shape))]
        return reducer(x[tuple(index)], axis=gone)

    return te.compute(left, element, name="extreme")


#: For `relax.transform.LegalizeOps`.
LEGALISE = {
    "relax.max": lambda bb, call: _legalise(True, bb, call),
    "relax.min": lambda bb, call: _legalise(False, bb, call),
}
