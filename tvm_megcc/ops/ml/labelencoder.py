"""ai.onnx.ml::LabelEncoder of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result

#: Keys up to here are compared one by one; more of them are searched.
_FEW = 1 << 12


class LabelEncoder(OnnxOp):
    """The value of the key that an element equals, or the default.

    The last of equal keys counts; NaN equals NaN.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        keys, _ = _column(ctx, attrs, "keys")
        values, default = _column(ctx, attrs, "values")
        dtype = inputs.dtype(0)
        last = {("nan" if key != key else key): k for k, key in enumerate(keys.tolist())}
        keys, values = keys[list(last.values())], values[list(last.values())]
        if len(keys) > _FEW:
            raise ctx.unsupported(f"has {len(keys)} keys", f"use at most {_FEW}")
        data = ctx.reshape(inputs[0], [*inputs.shape(0), 1])
        equal = ctx.emit(relax.op.equal(data, ctx.const(keys, dtype)))
        if np.issubdtype(keys.dtype, np.floating) and np.isnan(keys).any():
            both = relax.op.logical_and(relax.op.isnan(data), ctx.const(np.isnan(keys), "bool"))
            equal = ctx.emit(relax.op.logical_or(equal, ctx.emit(both)))
        # The number of the key, from 1 on; 0 where there is none.
        numbers = ctx.const(np.arange(1, len(keys) + 1), "int64")
        place = relax.op.where(equal, numbers, ctx.const(0, "int64"))
        place = ctx.emit(relax.op.max(ctx.emit(place), [-1]))
        table = np.concatenate([[default], values]).astype(values.dtype)
        return relax.op.take(ctx.const(table, str(values.dtype)), place, 0, "clip")


def _column(ctx: Context, attrs: Attrs, name: str) -> tuple[np.ndarray, Any]:
    """Keys or values, and the default of their type."""
    if f"{name}_tensor" in attrs:
        column = np.asarray(attrs[f"{name}_tensor"]).reshape(-1)
        if column.dtype.kind in "fiu":
            default = attrs.get("default_tensor")
            nothing = -1 if column.dtype.kind in "iu" else -0.0
            return column, nothing if default is None else np.asarray(default).reshape(-1)[0]
    for kind, dtype, nothing in (("int64s", "int64", -1), ("floats", "float32", -0.0)):
        found: Sequence[Any] = attrs.get(f"{name}_{kind}") or []
        if found:
            return np.array(found, dtype), attrs.get(f"default_{kind[:-1]}", nothing)
    raise ctx.unsupported(f"its {name} are strings", "map numbers to numbers")
