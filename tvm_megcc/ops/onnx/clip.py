"""Clip, with bounds as attributes (opset 6) or operands (opset 11 and later)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from ...shapes.arithmetic import Known, dtype_of, mapped, maximum, minimum, single
from ...shapes.sizes import Item, Real
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import clip
from ..common.operands import scalar

_LARGEST = float(np.finfo(np.float32).max)
#: Of the attributes, until opset 10.
_DEFAULTS = {"min": -_LARGEST, "max": _LARGEST}


class Clip(OnnxOp):
    """``clip`` with constant bounds, ``nn.relu`` for a lone lower bound of 0, else max and min."""

    single = {1: "min", 2: "max"}

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        low, high = (single(operands[k]) if k < len(operands) else None for k in (1, 2))
        low = Real.of(attrs["min"]) if "min" in attrs else low
        high = Real.of(attrs["max"]) if "max" in attrs else high

        def clipped(a: Item) -> Item:
            a = a if low is None else maximum(a, low)
            return a if high is None else minimum(a, high)

        return mapped(operands[0], clipped, dtype_of(operands[0]))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, dtype = inputs[0], inputs.dtype(0)
        low, high = (_bound(ctx, inputs, attrs, k, name) for k, name in ((1, "min"), (2, "max")))
        if low is not None and high is not None:
            # ONNX: where the bounds cross, everything is the upper one.
            return clip(ctx, data, min(low, high), high)
        runtime = [i for i in (1, 2) if inputs.has(i) and inputs.known(i) is None]
        if low == 0 and not runtime and "int" not in dtype:
            return relax.op.nn.relu(data)
        if low is not None:
            data = relax.op.maximum(data, ctx.const(low, dtype))
        elif 1 in runtime:
            data = relax.op.maximum(data, _computed(ctx, inputs, 1, -np.inf))
        if high is not None:
            data = relax.op.minimum(data, ctx.const(high, dtype))
        elif 2 in runtime:
            data = relax.op.minimum(data, _computed(ctx, inputs, 2, np.inf))
        return data


def _bound(ctx: Context, inputs: Inputs, attrs: Attrs, index: int, name: str) -> Any:
    """A bound that is known and bounds: neither NaN nor an infinity.

    The largest finite number does bound: what is infinite becomes it. Until opset 10 that of f32 is
    the default.
    """
    known = inputs.known(index)
    value = known.reshape(-1)[0].item() if known is not None else attrs.get(name)
    if value is None and 6 <= ctx.opset < 11:
        value = _DEFAULTS[name]
    if value is None or "float" not in inputs.dtype(0):
        return value
    return None if np.isnan(value) or value == (-np.inf if name == "min" else np.inf) else value


def _computed(ctx: Context, inputs: Inputs, index: int, none: float) -> relax.Expr:
    """A bound that is computed at run time; where it is NaN, which bounds nothing, it is `none`."""
    bound, dtype = scalar(ctx, inputs, index), inputs.dtype(index)
    if "float" not in dtype:
        return bound
    is_nan = ctx.emit(relax.op.isnan(bound))
    return ctx.emit(relax.op.where(is_nan, ctx.const(none, dtype), bound))
