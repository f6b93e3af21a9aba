"""qpool2d: averages of 8-bit tensors, in NHWC, that are quantised again.

quantize(avg_pool2d(dequantize(x)))               also means over H and W
quantize(astype(sum(astype(x, i32) - zero), f32) * scale)

The sums are exact where the arithmetic of the first form rounds every product; what follows them
is in f32, as `op/qpool2d.h` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from tvm.relax.dpl import is_op

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import Size
from tvm_megcc.fuse import pool2d
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.quantised import centred, dequantised, holds
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.fuse.rescale import NUMBER_STEPS, limits, number_stored, scale, stored
from tvm_megcc.kernels.contract import codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.exprs import constant, dtype_of, step_of

_FUNCS = codes("qpool2d")
#: Largest window whose sum of bytes minus a zero point fits into i32.
_MOST_TAPS = ((1 << 31) - 1) // 255
Windows = Callable[[Parts], Mapping[str, Size] | None]


def _whole(parts: Parts) -> Mapping[str, Size] | None:
    """Windows of a call that reduces the whole image."""
    shape = pool2d.whole_image(parts)
    if shape is None:
        return None
    n, h, w, c = shape
    facts: dict[str, Size] = {"n": n, "h": h, "w": w, "c": c, "oh": 1, "ow": 1, "kh": h, "kw": w}
    facts |= dict.fromkeys(("sh", "sw", "dh", "dw"), 1)
    return facts | dict.fromkeys(("pt", "pl", "pb", "pr", "count_include_pad"), 0)


#: Operators that average -> the windows over which they do.
_AVERAGES: dict[str, Windows] = {
    "nn.avg_pool2d": pool2d.windows,
    "nn.adaptive_avg_pool2d": _whole,
    "mean": _whole,
}


def anchors() -> Iterator[Anchor]:
    for name, windows in _AVERAGES.items():
        raw, real = dequantised()
        parts = {"x": raw, "real": real}
        yield Anchor(
            f"qpool2d.{name}", is_op(f"relax.{name}")(real), parts, partial(_average, windows),
            NUMBER_STEPS, (real,),
        )  # fmt: skip
    for x in centred():
        parts = {"x": x.raw, "real": x.pattern}
        parts |= {"zero": x.zero} if x.zero is not None else {}
        pattern = is_op("relax.sum")(x.pattern)
        yield Anchor(f"qpool2d.sum{x.name}", pattern, parts, _sum, (scale, stored), x.calls)


def _average(windows: Windows, parts: Parts, tail: Tail) -> Request | None:
    facts, held, step = windows(parts), number_stored(tail), step_of(parts["real"])
    if facts is None or held is None or step is None:
        return None
    with np.errstate(all="ignore"):
        factor = step[0] / held.step
    taps = facts["kh"] * facts["kw"]
    if isinstance(taps, int) and taps > _MOST_TAPS:
        return None
    known = {"func": _FUNCS["AVG"], "offset": float(held.offset), **held.facts}
    return _request(parts, {**facts, **known}, step[1], factor)


def _sum(parts: Parts, tail: Tail) -> Request | None:
    facts, held = _whole(parts), None if tail.stored is None else limits(tail)
    factor = constant(tail.scale)
    zero = constant(parts["zero"]) if "zero" in parts else np.zeros(1, np.int32)
    if facts is None or held is None or factor is None or factor.size != 1 or zero is None:
        return None
    if zero.size != 1 or dtype_of(parts["root"]) != "i32":
        return None
    step, ends = held
    with np.errstate(all="ignore"):
        scaled = np.float32(factor.item()) / step
    known = {"func": _FUNCS["SUM"], "offset": 0.0, **ends}
    return _request(parts, {**facts, **known}, int(zero.item()), scaled)


def _request(
    parts: Parts, facts: Mapping[str, Fact], zero: int, factor: np.float32
) -> Request | None:
    dtype = dtype_of(parts["x"])
    if dtype not in EIGHT_BITS or not holds(dtype, zero) or not np.isfinite(factor):
        return None
    known = {**facts, "x_zero": zero, "scale": float(factor)}
    return Request("qpool2d", known, {"x": parts["x"]})
