"""TIR of ``relax.max``, ``relax.min`` and ``max_pool`` of floats (see `extremes`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax, te, tirx, topi

from tvm_megcc.relax_tools.calls import reduced_axes
from tvm_megcc.relax_tools.extremes import extreme, none


def _legalise(largest: bool, bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    x, keep = call.args[0], bool(call.attrs.keepdims)
    axes = reduced_axes(call)
    hint = "max" if largest else "min"
    if "float" not in str(x.ty.dtype):
        function = topi.max if largest else topi.min
        return bb.call_te(function, x, axes, keep, primfunc_name_hint=hint)
    return bb.call_te(_extreme, x, axes, keep, largest, primfunc_name_hint=hint)


def _extreme(x: te.Tensor, axes: list[int], keep: bool, largest: bool) -> te.Tensor:
    gone = [te.reduce_axis((0, x.shape[axis]), name=f"k{axis}") for axis in axes]
    left = [1 if k in axes else d for k, d in enumerate(x.shape) if keep or k not in axes]

    def element(*at: Any) -> Any:
        place = iter(v for k, v in enumerate(at) if not keep or k not in axes)
        index = [gone[axes.index(k)] if k in axes else next(place) for k in range(len(x.shape))]
        return extreme(x[tuple(index)], gone, largest)

    return te.compute(left, element, name="extreme")


def _pool(op: str) -> Callable[[relax.BlockBuilder, relax.Call], relax.Expr]:
    tvms = tvm.ir.Op.get(op).get_attr("FLegalize")

    def legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        x, a = call.args[0], call.attrs
        if "float" not in str(x.ty.dtype) or a.ceil_mode or a.layout != a.out_layout:
            return tvms(bb, call)
        axes = [k for k, letter in enumerate(a.layout) if letter in "DHW"]
        numbers = [[int(v) for v in row] for row in (a.pool_size, a.strides, a.dilation, a.padding)]
        return bb.call_te(_pooled, x, axes, *numbers, primfunc_name_hint=op.split(".")[-1])

    return legalise


def _pooled(
    x: te.Tensor,
    axes: list[int],
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    padding: list[int],
) -> te.Tensor:
    """Largest element of each window within the image."""
    taps = [te.reduce_axis((0, size), name=f"k{k}") for k, size in enumerate(kernel)]
    shape = list(x.shape)
    for k, axis in enumerate(axes):
        room = shape[axis] + padding[k] + padding[len(axes) + k] - (kernel[k] - 1) * dilations[k]
        shape[axis] = tirx.floordiv(room - 1, strides[k]) + 1

    def element(*at: Any) -> Any:
        place, inside = list(at), []
        for k, axis in enumerate(axes):
            place[axis] = at[axis] * strides[k] + taps[k] * dilations[k] - padding[k]
            inside += [place[axis] >= 0] * (padding[k] > 0)
            inside += [place[axis] < x.shape[axis]] * (padding[len(axes) + k] > 0)
        value = x[tuple(place)]
        if inside:
            value = tirx.if_then_else(tirx.all(*inside), value, none(str(x.dtype.dtype), True))
        return extreme(value, taps, largest=True)

    return te.compute(shape, element, name="pooled")


#: For `relax.transform.LegalizeOps`.
LEGALISE = {
    "relax.max": lambda bb, call: _legalise(True, bb, call),
    "relax.min": lambda bb, call: _legalise(False, bb, call),
    **{op: _pool(op) for op in (f"relax.nn.max_pool{rank}d" for rank in (1, 2, 3))},
}
