"""FoldScaleShift: batch normalisation and other per-channel scale and shift go into the weights.

``batch_norm(x)[0]`` becomes ``x * scale + shift`` with constant ``scale`` and ``shift``; then

    conv2d(x, W) * s        ->  conv2d(x, W * s)
    (conv2d(x, W) + b) * s  ->  conv2d(x, W * s) + b * s
    (y + b) + c             ->  y + (b + c)

and the same for matmul with a constant right-hand side. Scale and shift of the channels in front of
a convolution go into its weights, too. Padding applies to the shifted value, so with it the shift
stays:

    conv2d(x * s + b, W)    ->  conv2d(x, W * s) + sum(W * b)        without padding
    conv2d(x * s + b, W)    ->  conv2d(x + b / s, W * s)             with it

Works on NCHW/OIHW, before the layout pass, and only where the inner value has no other use. Moving
statistics are constants, as in inference. Scaled weights must be finite in their type: integers
wrap, and ``0 * inf`` is NaN. Summands that almost cancel stay apart: ``y + 2**23 - 2**23`` rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.dims import Size, fixed, is_static
from tvm_megcc.relax_tools.calls import op_name, with_args
from tvm_megcc.relax_tools.exprs import (
    constant,
    make_constant,
    of_channels,
    shape_of,
    use_counts,
)
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import MATMUL, named


@rewriting_pass("tvm_megcc.FoldScaleShift")
class FoldScaleShift(Rewriter):
    """Fold batch normalisation and per-channel scale and shift into constant weights."""

    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        self.uses = use_counts(func)

    def leave(self, mod: tvm.IRModule) -> tvm.IRModule:
        return relax.transform.DeadCodeElimination()(mod)

    def _shape(self, expr: relax.Expr) -> tuple[Size, ...] | None:
        return shape_of(expr, self.symbols)

    def visit_tuple_getitem_(self, item: relax.TupleGetItem) -> relax.Expr:
        item = self.visit_expr_post_order(item)
        call = bound(self, item.tuple_value) if isinstance(item, relax.TupleGetItem) else None
        if call is None or item.index != 0 or op_name(call) != "relax.nn.batch_norm":
            return item
        arrays = [a for arg in call.args[1:5] if (a := constant(arg)) is not None]
        rank = len(call.args[0].ty.shape.values) if self._shape(call.args[0]) else 0
        if len(arrays) < 4 or not rank:
            return item
        gamma, beta, mean, var = (a.astype(np.float64) for a in arrays)
        attrs = call.attrs
        scale = (gamma if attrs.scale else 1.0) / np.sqrt(var + float(attrs.epsilon))
        shift = (beta if attrs.center else 0.0) - mean * scale
        shape = [1] * rank
        shape[int(attrs.axis)] = -1
        dtype = str(item.ty.dtype)
        shift = shift.reshape(shape).astype(dtype)
        x = self._scaled(call.args[0], scale.reshape(shape).astype(dtype), shift)
        return self._shifted(x, shift)

    @on("relax.multiply", "relax.add")
    def _by_a_constant(self, call: relax.Call) -> relax.Expr:
        value, factor = call.args
        if constant(value) is not None:
            value, factor = factor, value
        array = constant(factor)
        same = self._shape(value) == self._shape(call) is not None
        if array is None or constant(value) is not None or not same:
            return call
        rewrite = self._scaled if op_name(call) == "relax.multiply" else self._shifted
        return rewrite(value, array)

    @on("relax.nn.conv2d")
    def _fed(self, call: relax.Call) -> relax.Expr:
        """Fold a multiply and an add in front of a convolution into its weights and bias.

        Returns the call unchanged where that is not possible.
        """
        weights, shape = constant(call.args[1]), self._shape(call.args[0])
        layouts = str(call.attrs.data_layout), str(call.attrs.kernel_layout)
        if weights is None or shape is None or layouts != ("NCHW", "OIHW"):
            return call
        if not _is_real(weights):
            return call
        affine = self._affine(call.args[0], fixed(shape[1])) if is_static(shape[1:2]) else None
        if affine is None:
            return call
        x, scale, shift = affine.x, affine.scale, affine.shift
        padded = any(int(p) for p in call.attrs.padding)
        if padded and affine.steps == 1 and _added(self._sole(call.args[0])) is not None:
            return call  # the call has this form already
        groups = int(call.attrs.groups)
        rows = weights.astype(np.float64).reshape(
            groups, weights.shape[0] // groups, *weights.shape[1:]
        )
        inputs = (groups, 1, weights.shape[1], 1, 1)
        dtype = weights.dtype
        grouped = rows * scale.reshape(inputs)
        product = grouped.reshape(weights.shape)
        # Weights by input channel; `product` has them by output channel.
        each = (scale.size, weights.size // max(scale.size, 1))
        before, after = (a.swapaxes(1, 2).reshape(each) for a in (rows.astype(dtype), grouped))
        if _loses(weights, product, 0) or _loses(before, after, 0):
            return call
        scaled = _held(product, dtype)
        added = _held((rows * shift.reshape(inputs)).sum((2, 3, 4)).reshape(1, -1, 1, 1), dtype)
        kept = _held((shift / scale).reshape(1, -1, 1, 1), dtype)
        if scaled is None or added is None or kept is None:
            return call
        if padded and _loses(shift.astype(dtype), shift / scale, 0):
            return call
        if padded and shift.any():
            x = self._emit(relax.op.add(x, make_constant(kept)))
        result = with_args(call, [x, make_constant(scaled)])
        if padded or not shift.any():
            return result
        return self._shifted(self._emit(result), added)

    def _affine(self, expr: relax.Expr, channels: int) -> _Affine | None:
        """Scale and shift by channel that constants apply to a value; None if there are none."""
        scale, shift, steps = np.ones(channels), np.zeros(channels), 0
        shape = self._shape(expr)
        while (inner := self._sole(expr)) is not None and op_name(inner) in _AFFINE:
            value, factor = inner.args
            if constant(value) is not None and op_name(inner) in ("relax.add", "relax.multiply"):
                value, factor = factor, value
            array = of_channels(constant(factor), channels)
            if array is None or constant(value) is not None or self._shape(value) != shape:
                break
            if op_name(bound(self, value)) in _BIASED:
                break
            one, other = _AFFINE[op_name(inner)](array)  # value * one + other
            shift, scale = shift + scale * other, scale * one
            if not (np.isfinite(scale).all() and np.isfinite(shift / scale).all()):
                return None
            expr, steps = value, steps + 1
        return _Affine(expr, scale, shift, steps) if steps else None

    def _sole(self, expr: relax.Expr) -> relax.Call | None:
        """The call bound to a variable that is used once."""
        value = bound(self, expr)
        used_once = not isinstance(expr, relax.Var) or self.uses[expr] == 1
        return value if isinstance(value, relax.Call) and used_once else None

    def _emit(self, expr: relax.Expr) -> relax.Expr:
        var = self.emit(expr)
        self.uses[var] = 1
        return var

    def _scaled(
        self, x: relax.Expr, factor: np.ndarray, later: np.ndarray | None = None
    ) -> relax.Expr:
        """``x * factor``; the caller adds `later` to it.

        Without such a sum a product with 0 keeps its sign, which weights of 0 would lose.
        """
        if not _is_real(factor) or later is None and not factor.all():
            return relax.op.multiply(x, make_constant(factor))
        inner = self._sole(x)
        shift = _added(inner)
        if inner is not None and shift is not None:
            value = inner.args[0]
            source = self._sole(value)
            moved = _held(shift.astype(np.float64) * factor, shift.dtype)
            after = moved if moved is None or later is None else moved + later
            weighted = self._weighted(source, factor, after)
            same = self._shape(value) == self._shape(inner)
            if weighted is not None and moved is not None and same:
                return self._shifted(self._emit(weighted), moved)
        weighted = self._weighted(inner, factor, later)
        return weighted if weighted is not None else relax.op.multiply(x, make_constant(factor))

    def _weighted(
        self, call: relax.Call | None, factor: np.ndarray, later: np.ndarray | None
    ) -> relax.Call | None:
        """Multiply `factor` into the constant weights of `call`; None if that is not possible."""
        if call is None or not op_name(call) or len(call.args) < 2:
            return None
        weights, shape = constant(call.args[1]), self._shape(call)
        if weights is None or shape is None:
            return None
        if op_name(call) == "relax.nn.conv2d" and str(call.attrs.kernel_layout) == "OIHW":
            axis, rank_behind = 1, 3
        elif op_name(call) == "relax.matmul" and weights.ndim == 2:
            axis, rank_behind = len(shape) - 1, 0
        else:
            return None
        padded = (1,) * (len(shape) - factor.ndim) + factor.shape
        elsewhere = [d for i, d in enumerate(padded) if i != axis]
        if any(d != 1 for d in elsewhere) or padded[axis] not in (1, shape[axis]):
            return None
        vector = np.broadcast_to(factor.reshape(-1), (fixed(shape[axis]),)).reshape(
            -1, *[1] * rank_behind
        )
        product = weights.astype(np.float64) * vector
        scaled = _held(product, weights.dtype)
        if scaled is None or _loses(weights, product, 0 if rank_behind else 1, later):
            return None
        return with_args(call, [call.args[0], make_constant(scaled)])

    def _shifted(self, x: relax.Expr, shift: np.ndarray) -> relax.Expr:
        x = x if isinstance(x, relax.Var) else self._emit(x)
        inner = self._sole(x)
        before = _added(inner)
        if inner is not None and before is not None:
            total = np.asarray(before + shift)
            fits = total.size <= max(before.size, shift.size) and _is_sum(total, before, shift)
            if fits and self._shape(inner.args[0]) == self._shape(inner):
                return relax.op.add(inner.args[0], make_constant(total.astype(shift.dtype)))
        return relax.op.add(x, make_constant(shift))


@dataclass(frozen=True, slots=True)
class _Affine:
    """``x * scale + shift``, vectors over channels, found in `steps` operators."""

    x: relax.Expr
    scale: np.ndarray
    shift: np.ndarray
    steps: int


#: Operator with a constant on its right -> factor and summand of the value on its left.
_AFFINE: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "relax.add": lambda c: (np.ones_like(c), c),
    "relax.subtract": lambda c: (np.ones_like(c), -c),
    "relax.multiply": lambda c: (c, np.zeros_like(c)),
    "relax.divide": lambda c: (1 / c, np.zeros_like(c)),
}


#: Products whose kernels add a constant at no cost.
_BIASED = named("nn.conv2d nn.conv2d_transpose") | {MATMUL}


def _added(call: relax.Call | None) -> np.ndarray | None:
    """Constant right operand of an addition; None for any other call."""
    return constant(call.args[1]) if call is not None and op_name(call) == "relax.add" else None


def _held(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Cast doubles to a float type; None if one overflows, or all are subnormal there."""
    held = array.astype(dtype)
    if not np.isfinite(held.astype(np.float64)).all():
        return None
    return None if 0 < np.abs(array).max(initial=0) < _least(dtype) else held


def _least(dtype: np.dtype) -> float:
    """Smallest normal number of a float type."""
    return 2.0**-14 if dtype == np.float16 else 2.0**-126


def _loses(
    weights: np.ndarray, product: np.ndarray, axis: int, later: np.ndarray | None = None
) -> bool:
    """Whether all weights of a channel become subnormal, and so lose digits.

    The loss does not count where a summand that is added `later` is so large that it rounds it off.
    """
    channels, least = weights.shape[axis], _least(weights.dtype)
    others = tuple(k for k in range(weights.ndim) if k != axis)
    before, after = (
        np.abs(a.astype(np.float64)).max(others, initial=0) for a in (weights, product)
    )
    lost = (after < least) & (before >= least) & (after > 0)
    if later is not None and later.size in (1, channels):
        digits = 10 if weights.dtype == np.float16 else 23
        lost &= np.abs(later.reshape(-1).astype(np.float64)) < least * 2.0**digits
    return bool(lost.any())


def _is_real(array: np.ndarray) -> bool:
    return array.dtype.kind not in "iub"


def _is_sum(total: np.ndarray, *summands: np.ndarray) -> bool:
    """Whether constants may be added first: floats must be finite and must not almost cancel.

    ``y + 2**23 - 2**23`` rounds `y` to an integer.
    """
    if not _is_real(total):
        return True
    most, left = (max(np.abs(a).max(initial=0) for a in arrays) for arrays in (summands, [total]))
    return bool(np.isfinite(left) and left * _CANCELLED >= most)


#: Factor by which a sum may be smaller than its largest summand.
_CANCELLED = 1 << 12
