"""Draw random numbers in a model (docs/random-numbers.md): uniform and normal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx  # numpy knows bfloat16 by it
from tvm import relax

from tvm_megcc.relax_tools import philox
from tvm_megcc.relax_tools.draws import draw

from ...dims import Size
from .context import Attrs, Context
from .inputs import Inputs
from .operator import OnnxOp

#: Types of random numbers: computed in f32, the narrow ones rounded.
_FLOATS = ("float32", "float64", "float16", "bfloat16")


class Random(OnnxOp):
    """An operator whose results differ from run to run."""

    random = True


def drawn(ctx: Context, attrs: Attrs) -> relax.Var:
    """The state that a node's numbers are computed from, ``uint32[4]``: a new one each time."""
    seed = None if "seed" not in attrs else _key(attrs["seed"])
    return ctx.emit(draw(ctx.label, ctx.functions.unused("draw"), seed))


def _key(seed: float | int) -> int:
    """Key for a node's seed: a whole number itself, as in ``megcc_set_seed``; else its f32 bits."""
    if isinstance(seed, int) or (seed.is_integer() and abs(seed) < 2.0**63):
        return int(seed)
    return int(np.float32(seed).view(np.int32)) << 32


def uniform(ctx: Context, attrs: Attrs, shape: Sequence[Size], dtype: str) -> relax.Var:
    """Numbers in [0, 1) of float32 or float64."""
    return _filled(ctx, philox.uniform, drawn(ctx, attrs), shape, dtype)


def between(ctx: Context, attrs: Attrs, shape: Sequence[Size], dtype: str) -> relax.Var:
    """Numbers from ``low`` to below ``high``; ``low`` if both are equal."""
    low, high = float(attrs.get("low", 0.0)), float(attrs.get("high", 1.0))
    if not 0 <= high - low <= float(np.finfo(np.float32).max):
        raise ctx.unsupported(
            f"draws from {low} to {high}", "give it a low and a high that is not less, both finite"
        )
    wide = wide_of(dtype)
    found = uniform(ctx, attrs, shape, wide)
    if (low, high) != (0.0, 1.0):
        found = ctx.emit(relax.op.multiply(found, ctx.const(high - low, wide)))
        found = ctx.emit(relax.op.add(found, ctx.const(low, wide)))
    elif dtype == wide:
        return found
    found = _narrowed(ctx, found, dtype)
    return ctx.emit(relax.op.minimum(found, ctx.const(_last(low, high, dtype), dtype)))


def normal(ctx: Context, attrs: Attrs, shape: Sequence[Size], dtype: str) -> relax.Var:
    """Numbers of a ``mean`` and a ``scale``, the standard deviation."""
    mean, scale = float(attrs.get("mean", 0.0)), float(attrs.get("scale", 1.0))
    wide = wide_of(dtype)
    found = _filled(ctx, philox.normal, drawn(ctx, attrs), shape, wide)
    if scale != 1:
        found = ctx.emit(relax.op.multiply(found, ctx.const(scale, wide)))
    if mean != 0:
        found = ctx.emit(relax.op.add(found, ctx.const(mean, wide)))
    return _narrowed(ctx, found, dtype)


def dtype_of(ctx: Context, attrs: Attrs, default: str) -> str:
    """The type of a result: the attribute ``dtype``, else `default`."""
    code = attrs.get("dtype")
    dtype = default if code is None else tvm_dtype(ctx, code)
    if dtype not in _FLOATS:
        raise ctx.unsupported(
            f"draws numbers of {dtype}", f"give it a dtype of {', '.join(_FLOATS)}"
        )
    return dtype


def tvm_dtype(ctx: Context, code: int) -> str:
    """TVM's name of one of ONNX's types."""
    return str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(int(code))))


def like(ctx: Context, inputs: Inputs, attrs: Attrs) -> tuple[tuple[Size, ...], str]:
    """Shape and type for numbers that are drawn like an operand, whose elements are not read."""
    return inputs.shape(0), dtype_of(ctx, attrs, inputs.dtype(0))


def wide_of(dtype: str) -> str:
    """Float type in which random numbers for a result of `dtype` are computed: f64 or f32."""
    return "float64" if dtype == "float64" else "float32"


def _narrowed(ctx: Context, value: relax.Var, dtype: str) -> relax.Var:
    return value if wide_of(dtype) == dtype else ctx.emit(relax.op.astype(value, dtype))


def _last(low: float, high: float, dtype: str) -> float:
    """The greatest number below `high`, which rounding could reach; `low` if both are equal."""
    kind = np.dtype(dtype)
    first, end, down = (np.asarray(v, np.float32).astype(kind) for v in (low, high, -np.inf))
    return max(float(first), float(np.nextafter(end, down)))


def _filled(
    ctx: Context, made: Any, words: relax.Var, shape: Sequence[Size], dtype: str
) -> relax.Var:
    dims = ctx.prims(shape)
    hint = f"random_{made.__name__}"
    flat = ctx.builder.emit_te(made, words, dims, dtype, primfunc_name_hint=hint)
    return ctx.emit(relax.op.reshape(flat, dims))
