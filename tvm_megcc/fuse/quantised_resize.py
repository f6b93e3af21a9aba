"""qresize2d: linear resizing of an 8-bit tensor, in NHWC.

quantize(resize2d(dequantize(x)))        a limit may stand before the quantize
resize2d(x)                              of 8 bits: ONNX cuts off the fraction
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tvm.relax.dpl import is_op

from tvm_megcc.core.dtypes import EIGHT_BITS, numpy_dtype
from tvm_megcc.dims import Size
from tvm_megcc.fuse import resize2d
from tvm_megcc.fuse.epilogue import Tail, activation
from tvm_megcc.fuse.quantised import dequantised, holds
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.fuse.rescale import limits, quantised
from tvm_megcc.kernels.contract import codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.exprs import dtype_of, step_of

_CODES = codes("qresize2d")
_COORD = codes("resize2d")
#: Coordinates -> largest growth of an image for which all weights are sixteenths; pixel centres
#: halve it.
_GROWTH = {
    _COORD["HALF_PIXEL"]: 8, _COORD["PYTORCH_HALF_PIXEL"]: 8,
    _COORD["ASYMMETRIC"]: 16, _COORD["ALIGN_CORNERS"]: 16,
}  # fmt: skip


def anchors() -> Iterator[Anchor]:
    raw, real = dequantised()
    pattern = is_op("relax.image.resize2d")(real, varg_default_wildcard=True)
    steps = (activation, quantised)
    yield Anchor("qresize2d.real", pattern, {"x": raw, "real": real}, _resized, steps, (real,))
    yield anchor_of("relax.image.resize2d", "qresize2d.cut", _resized)


def _resized(parts: Parts, tail: Tail) -> Request | None:
    found, dtype = resize2d.sampling(parts), dtype_of(parts["x"])
    if found is None or dtype not in EIGHT_BITS or found["nchw"]:
        return None
    if found["mode"] != _COORD["LINEAR"]:
        return None
    stored = _rounded(parts, tail, dtype) if "real" in parts else _cut(dtype)
    if stored is None:
        return None
    names = ("n", "c", "h", "w", "oh", "ow", "coord")
    facts = {**{name: found[name] for name in names}, "sixteenths": int(_sixteenths(found))}
    return Request("qresize2d", {**facts, **stored}, {"x": parts["x"]})


def _rounded(parts: Parts, tail: Tail, dtype: str) -> Mapping[str, Fact] | None:
    step, held = step_of(parts["real"]), None if tail.stored is None else limits(tail)
    if step is None or held is None or not step[0] > 0 or not holds(dtype, step[1]):
        return None
    with np.errstate(all="ignore"):
        scale = step[0] / held[0]
    if not np.isfinite(scale):
        return None
    return {"round": _CODES["EVEN"], "x_zero": step[1], "scale": float(scale), **held[1]}


def _cut(dtype: str) -> Mapping[str, Fact]:
    ends = np.iinfo(numpy_dtype(dtype))
    held = {"y_zero": 0, "low": int(ends.min), "high": int(ends.max)}
    return {"round": _CODES["CUT"], "x_zero": 0, "scale": 1.0, **held}


def _sixteenths(facts: Mapping[str, Any]) -> bool:
    """Whether the weights along both axes are multiples of 1/16, in f32 as in reals."""
    pairs = ((facts["h"], facts["oh"]), (facts["w"], facts["ow"]))
    return all(_axis(size, out, facts["coord"]) for size, out in pairs)


def _axis(size: Size, out: Size, coord: int) -> bool:
    """Whether the sizes differ by a power of two within `_GROWTH`."""
    if coord == _COORD["ALIGN_CORNERS"]:
        size, out = size - 1, out - 1
        if size == 0 or out == 0:  # one pixel is read
            return True
    powers = [1 << k for k in range(5) if 1 << k <= _GROWTH[coord]]
    return any(out == size * p or size == out * p for p in powers)
