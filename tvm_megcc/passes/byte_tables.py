"""ByteTables: an elementwise function from 8 bits to 8 bits becomes a table of 256 bytes.

    quantize(sigmoid(dequantize(x, sx, zx)), sy, zy)  ->  take(table, astype(x, i32) + 128)

for any elementwise operators between, of this tensor and one-element constants. NumPy computes the
table in f32, as ONNX defines it. `tvm_megcc.fuse.lut` matches the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core.dtypes import EIGHT_BITS, numpy_dtype
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import dtype_of, make_constant, step_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass

Array = np.ndarray[Any, np.dtype[Any]]
Evaluate = Callable[..., Array]


def _rounded(function: Evaluate) -> Evaluate:
    """Evaluate in f64 a function that NumPy does not round correctly in f32."""
    return lambda call, x: function(x.astype(np.float64)).astype(np.float32)


def _sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def _clip(call: relax.Call, x: Array, *_: Array) -> Array:
    low, high = (np.float32(arg.value) for arg in call.args[1:])
    found: Array = np.minimum(np.maximum(x, low), high)
    return found


def _leaky(call: relax.Call, x: Array) -> Array:
    return np.where(x < 0, np.float32(call.attrs.alpha) * x, x)


def _plain(function: Evaluate) -> Evaluate:
    return lambda call, *xs: function(*xs)


#: Operators that NumPy has under the same name, correctly rounded.
_SAME_IN_NUMPY = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "negative", "abs", "sqrt",
    "floor", "ceil", "square",
)  # fmt: skip
#: Operators of f32 of which tables are made.
_EVALUATE: dict[str, Evaluate] = {
    **{f"relax.{name}": _plain(getattr(np, name)) for name in _SAME_IN_NUMPY},
    "relax.nn.relu": _plain(lambda x: np.maximum(x, np.float32(0))),
    "relax.nn.leakyrelu": _leaky,
    "relax.clip": _clip,
    **{f"relax.{name}": _rounded(getattr(np, name)) for name in ("exp", "log", "tanh")},
    "relax.sigmoid": _rounded(_sigmoid),
    "relax.nn.silu": _rounded(lambda x: x * _sigmoid(x)),
}


class _NoTableError(Exception):
    """An operator is unknown here, or reads more than one 8-bit tensor."""


@rewriting_pass("tvm_megcc.ByteTables", clean=True)
class ByteTables(Rewriter):
    """Replace elementwise functions of one 8-bit tensor by a table of 256 bytes."""

    @on("relax.quantize")
    def _table(self, call: relax.Call) -> relax.Expr:
        if dtype_of(call) not in EIGHT_BITS:
            return call
        try:
            found = _Chain(partial(bound, self))
            real = found.values(call.args[0])
            table = _quantised(real, call)
        except _NoTableError:
            return call
        (raw,) = found.raw
        if raw.ty.ndim != call.ty.ndim:  # by a constant of one element and more axes
            return call
        place = relax.op.astype(raw, "int32")
        if dtype_of(raw) == "i8":
            place = relax.op.add(self.emit(place), make_constant(np.array(128, np.int32)))
        return relax.op.take(make_constant(table), self.emit(place), axis=0)


class _Chain:
    """The operators between a ``quantize`` and the only 8-bit tensor that it depends on."""

    def __init__(self, value_of: Callable[[relax.Expr], relax.Expr]) -> None:
        self.value_of = value_of
        self.raw: set[relax.Var] = set()
        self.known: dict[relax.Expr, Array] = {}

    def values(self, expr: relax.Expr) -> Array:
        """Values of an expression for each of the 256 bytes, the least number first."""
        if expr not in self.known:
            self.known[expr] = self._computed(expr)
        return self.known[expr]

    def _computed(self, expr: relax.Expr) -> Array:
        value = self.value_of(expr)
        if isinstance(value, GenericConst):
            if value.value.numpy().size != 1 or dtype_of(value) != "f32":
                raise _NoTableError
            number: Array = value.value.numpy().reshape(())
            return number
        name = op_name(value)
        if name == "relax.dequantize":
            return self._dequantised(value)
        if name not in _EVALUATE or dtype_of(value) != "f32":
            raise _NoTableError
        tensors = [a for a in value.args if isinstance(a.ty, relax.TensorType)]
        return _EVALUATE[name](value, *map(self.values, tensors))

    def _dequantised(self, call: relax.Call) -> Array:
        raw = call.args[0]
        step = step_of(call)
        if not isinstance(raw, relax.Var) or dtype_of(raw) not in EIGHT_BITS or step is None:
            raise _NoTableError
        scale, zero = step
        self.raw.add(raw)
        if len(self.raw) > 1:
            raise _NoTableError
        info = np.iinfo(numpy_dtype(dtype_of(raw)))
        integers = np.arange(info.min, info.max + 1) - zero
        found: Array = integers.astype(np.float32) * scale
        return found


def _quantised(real: Array, call: relax.Call) -> Array:
    step = step_of(call)
    if step is None or real.shape != (256,):
        raise _NoTableError
    scale, zero = step
    steps = np.rint(real / scale).astype(np.float64) + zero
    if not np.isfinite(steps).all():
        raise _NoTableError
    dtype = numpy_dtype(dtype_of(call))
    info = np.iinfo(dtype)
    return np.clip(steps, info.min, info.max).astype(dtype)
