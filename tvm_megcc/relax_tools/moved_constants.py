"""Constants that may be dequantised, then permuted or reshaped, as arrays.

    permute_dims(reshape(dequantize(numbers, scales, zeros)))
      ->  numbers, scale of each, zero point of each, in the last order

for passes that compute with weights and biases before `FoldConstants` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator

from tvm_megcc.dims import fixed
from tvm_megcc.relax_tools.calls import op_name, permutation_of
from tvm_megcc.relax_tools.exprs import constant, make_constant, static_shape
from tvm_megcc.relax_tools.rewriting import bound
from tvm_megcc.relax_tools.shape_exprs import Symbols
from tvm_megcc.relax_tools.slices import slice_of
from tvm_megcc.relax_tools.traits import PERMUTES, RESHAPES


@dataclass(frozen=True, slots=True)
class Moved:
    """A constant; if quantised, with a scale and a zero point for each element."""

    values: np.ndarray
    scales: np.ndarray | None = None
    zeros: np.ndarray | None = None

    def map(self, move: Callable[[np.ndarray], np.ndarray]) -> Moved:
        """Permute or reshape the constant by `move`."""
        scales, zeros = (None if a is None else move(a) for a in (self.scales, self.zeros))
        return Moved(move(self.values), scales, zeros)

    def expression(self, axis: int = 0) -> relax.Expr | None:
        """The constant in Relax; None if scales or zero points vary along another axis."""
        values = make_constant(np.ascontiguousarray(self.values))
        if self.scales is None or self.zeros is None:
            return values
        steps = []
        for array in (self.scales, self.zeros):
            rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
            if rows.size == 0 or (rows != rows[:, :1]).any():
                return None
            steps.append(make_constant(np.ascontiguousarray(rows[:, 0])))
        return relax.op.dequantize(values, *steps, axis=axis)


def moved_constant(rewriter: PyExprMutator, expr: relax.Expr, symbols: Symbols) -> Moved | None:
    """Arrays of a constant expression in a rewriter; None if it is computed at run time."""
    call = bound(rewriter, expr)
    if (array := constant(call)) is not None:
        return Moved(array)
    name = op_name(call)
    if name in PERMUTES:
        inner, shape = moved_constant(rewriter, call.args[0], symbols), static_shape(call, symbols)
        if inner is None or shape is None:
            return None
        return inner.map(lambda array: moved(call, array, shape))
    if name != "relax.dequantize" or str(call.ty.dtype) != "float32":
        return None
    raw, scale, zero = (constant(a) for a in call.args)
    if raw is None or scale is None or zero is None or raw.dtype.kind not in "iu":
        return None
    spread = [1] * raw.ndim
    if raw.ndim:
        spread[int(call.attrs.axis) % raw.ndim] = -1
    each = (
        np.broadcast_to(a.reshape(spread if a.size > 1 else ()), raw.shape) for a in (scale, zero)
    )
    return Moved(raw, *each)


def moved(call: relax.Call, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Apply the operator of `call`, one of `MOVES`, to `array`; the result has this `shape`."""
    if op_name(call) == "relax.permute_dims":
        return array.transpose(permutation_of(call))
    if op_name(call) in RESHAPES:
        return array.reshape(shape)
    cut = slice_of(call, array.shape, {})
    assert cut is not None, "limits of constants"
    for axis, (begin, step) in enumerate(zip(cut.begins, cut.steps, strict=True)):
        array = array.take(fixed(begin) + step * np.arange(shape[axis]), axis)
    return array
