"""IntegerForm: convolutions and products of dequantised tensors are computed in integers.

    conv2d(dequantize(x, sx, zx), dequantize(w, sw, zw)) + dequantize(b, sx * sw, 0)
      ->  astype(conv2d(astype(x, i32) - zx, w - zw) + b, f32) * (sx * sw)

which is the same real number, rounded once instead of once for each product. QLinearConv and
QLinearMatMul have this form, too, so that integer kernels know one form
(`tvm_megcc.fuse.quantised`). It is made only where they serve it: weights are constants of 8 bits
that at most one zero point turns into signed bytes; scales are constants, one for the data and one
for the weights or for each output channel.

Real numbers do not wrap, so no sum may reach 2^31. Its bound is the largest datum times the sum of
a channel's absolute weights. Scales must be in the range in which products of two stay normal
(`exprs.STEPS`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.core.dtypes import EIGHT_BITS, numpy_dtype
from tvm_megcc.dims import bounds
from tvm_megcc.kernels.packing import byte_zero
from tvm_megcc.relax_tools.calls import op_name, rebuilt
from tvm_megcc.relax_tools.exprs import (
    STEPS,
    constant,
    dtype_of,
    make_constant,
    shape_of,
    step_of,
)
from tvm_megcc.relax_tools.moved_constants import moved_constant
from tvm_megcc.relax_tools.names import names_of
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import MATMUL
from tvm_megcc.relax_tools.work_attributes import with_reasons

#: Convolution -> the layouts of data and weights in which the importer leaves it.
_LAYOUTS = {
    "relax.nn.conv1d": ("NCW", "OIW"),
    "relax.nn.conv2d": ("NCHW", "OIHW"),
}
#: By how much the scale of a bias may differ from the product of the other two.
_SAME_SCALE = 1e-6


@dataclass(frozen=True, slots=True)
class _Integers:
    """A dequantised constant: integers minus their zero points, and a scale for each."""

    values: np.ndarray
    scales: np.ndarray


@dataclass(frozen=True, slots=True)
class _Data:
    """A tensor of 8 bits at run time, with its only zero point and scale."""

    raw: relax.Expr
    zero: int
    scale: np.float32

    @property
    def largest(self) -> int:
        """Largest absolute value of the integers, with and without the zero point subtracted."""
        ends = np.iinfo(numpy_dtype(dtype_of(self.raw)))
        return int(max(abs(int(e) - z) for e in (ends.min, ends.max) for z in (0, self.zero)))


@rewriting_pass("tvm_megcc.IntegerForm", clean=True)
class IntegerForm(Rewriter):
    """Compute convolutions and products of dequantised tensors in integers."""

    def __init__(self, *given: tvm.IRModule) -> None:
        super().__init__(*given)
        self.name = ""  # of the variable being bound
        #: Variable and operator that stay in float -> the reason.
        self.in_float: dict[tuple[str, str], str] = {}
        #: Sums in i32 -> their largest absolute values, as an array that broadcasts to them.
        self.largest: dict[relax.Var, np.ndarray] = {}

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        self.name = binding.var.name
        super().visit_var_binding_(binding)

    def leave(self, mod: tvm.IRModule) -> tvm.IRModule:
        names = names_of(mod)
        rows = [(names.get(var, f"{op} {var}"), why) for (var, op), why in self.in_float.items()]
        return with_reasons(mod, dict(rows))

    @on(*_LAYOUTS)
    def _convolution(self, call: relax.Call) -> relax.Expr:
        attrs, layouts = call.attrs, _LAYOUTS[op_name(call)]
        data, weights = self._data(call.args[0]), self._integers(call.args[1])
        if (str(attrs.data_layout), str(attrs.kernel_layout)) != layouts or data is None:
            return call
        if weights is None:
            return self._in_float(call, "its weights or their scales are not constant")
        rank = weights.values.ndim
        scales = _one_of_each(weights.scales, 0)
        if (why := _unfit(data, weights, scales)) or scales is None:
            return self._in_float(call, why)
        taps = np.abs(weights.values.astype(np.int64)).sum(tuple(range(1, rank)))
        largest = data.largest * taps.reshape(-1, *[1] * (rank - 2))
        if _wraps(largest):
            return self._in_float(call, _TOO_MANY)
        operands = [self._centred(data), make_constant(weights.values)]
        total = rebuilt(call, operands, out_dtype=None)
        return self._real(total, data.scale * scales.reshape(-1, *[1] * (rank - 2)), largest)

    @on(MATMUL)
    def _product(self, call: relax.Call) -> relax.Expr:
        lhs, weights = self._data(call.args[0]), self._integers(call.args[1])
        if lhs is None:
            return call
        if weights is None:
            rhs = self._data(call.args[1])
            if rhs is None:
                return self._in_float(call, "its other operand is not of 8 bits with one scale")
            # A dim without a bound counts as one term: no real model sums too many.
            terms = bounds((shape_of(call.args[0], self.symbols) or (1,))[-1])[1]
            largest = np.asarray(lhs.largest * rhs.largest * (terms if isfinite(terms) else 1))
            if _wraps(largest):
                return self._in_float(call, _TOO_MANY)
            total = relax.op.matmul(self._centred(lhs), self._centred(rhs))
            return self._real(total, np.asarray(lhs.scale * rhs.scale), largest)
        if weights.values.ndim < 2:
            return self._in_float(call, "its right-hand side is a vector")
        scales = _one_of_each(weights.scales, weights.values.ndim - 1)
        if (why := _unfit(lhs, weights, scales)) or scales is None:
            return self._in_float(call, why)
        sizes = np.abs(weights.values.astype(np.int64)).sum(-2)
        largest = lhs.largest * sizes.reshape(-1, sizes.shape[-1]).max(0, initial=0)
        if _wraps(largest):
            return self._in_float(call, _TOO_MANY)
        total = relax.op.matmul(self._centred(lhs), make_constant(weights.values))
        return self._real(total, lhs.scale * scales, largest)

    @on("relax.add")
    def _biased(self, call: relax.Call) -> relax.Expr:
        """Add a bias of the sum's own scale as integers."""
        for value, other in (call.args, reversed(call.args)):
            times = bound(self, value)
            added = self._integers(other)
            if added is None or op_name(times) != "relax.multiply":
                continue
            cast, scales = bound(self, times.args[0]), constant(times.args[1])
            if op_name(cast) != "relax.astype" or dtype_of(cast.args[0]) != "i32":
                continue
            if scales is None or added.values.ndim > int(value.ty.ndim):
                continue
            try:
                spread = np.broadcast_to(scales, added.scales.shape)
            except ValueError:
                continue
            if not np.allclose(added.scales, spread, rtol=_SAME_SCALE, atol=0):
                continue
            largest = self.largest.get(cast.args[0])
            if largest is None:
                continue
            largest = largest + np.abs(added.values.astype(np.int64))
            if _wraps(largest):
                continue
            total = relax.op.add(cast.args[0], make_constant(added.values))
            return self._real(total, scales, largest)
        return call

    def _in_float(self, call: relax.Call, why: str) -> relax.Call:
        self.in_float[self.name, op_name(call).removeprefix("relax.")] = why
        return call

    def _real(self, total: relax.Expr, scales: np.ndarray, largest: np.ndarray) -> relax.Expr:
        total = self.emit(total)
        self.largest[total] = largest
        number = self.emit(relax.op.astype(total, "float32"))
        scales = scales.reshape(()) if scales.size == 1 else scales
        return relax.op.multiply(number, make_constant(scales.astype(np.float32)))

    def _centred(self, data: _Data) -> relax.Expr:
        wide = self.emit(relax.op.astype(data.raw, "int32"))
        if data.zero == 0:
            return wide
        zero = make_constant(np.asarray(data.zero, np.int32))
        return self.emit(relax.op.subtract(wide, zero))

    def _data(self, expr: relax.Expr) -> _Data | None:
        call = bound(self, expr)
        if op_name(call) != "relax.dequantize" or dtype_of(call.args[0]) not in EIGHT_BITS:
            return None
        raw, step = call.args[0], step_of(call)
        if constant(raw) is not None or step is None or dtype_of(call) != "f32":
            return None
        scale, zero = step
        return _Data(raw, zero, scale)

    def _integers(self, expr: relax.Expr) -> _Integers | None:
        """A dequantised constant, perhaps permuted or reshaped; None for anything else."""
        found = moved_constant(self, expr, self.symbols)
        if found is None or found.scales is None or found.zeros is None:
            return None
        values = found.values.astype(np.int64) - found.zeros.astype(np.int64)
        if values.size and (values.min() < -(1 << 31) or values.max() >= 1 << 31):
            return None
        return _Integers(values.astype(np.int32), found.scales)


#: Reason for a sum in float that i32 might not hold.
_TOO_MANY = "a sum of so many products may not fit into 32 bits"


def _wraps(largest: np.ndarray) -> bool:
    """Whether sums with these bounds may not fit into i32."""
    return bool(largest.max(initial=0) >= 1 << 31)


def _unfit(data: _Data, weights: _Integers, scales: np.ndarray | None) -> str:
    """Reason why no integer kernel takes such weights, or an empty string."""
    if scales is None:
        return "its scales differ within an output channel"
    if byte_zero(weights.values) is None:
        return "its weights have zero points so far apart that no 8 bits hold them"
    if not _is_plain(data, weights):
        return "its scales are so small or so large that f32 does not have their products"
    return ""


def _is_plain(data: _Data, weights: _Integers) -> bool:
    """Whether data scale times weight scale is a normal f32 wherever the weight is not 0."""
    sizes = np.abs(weights.scales).astype(np.float64)
    if not (sizes <= STEPS[1]).all():  # a NaN is not
        return False
    normal = sizes * abs(float(data.scale)) >= np.finfo(np.float32).tiny
    return bool((normal | (sizes == 0) | (weights.values == 0)).all())


def _one_of_each(scales: np.ndarray, axis: int) -> np.ndarray | None:
    """Scales along one axis; None if they differ along another."""
    if scales.size == 0:
        return None
    moved = np.moveaxis(scales, axis, 0).reshape(scales.shape[axis], -1)
    first = moved[:, 0]
    return np.ascontiguousarray(first) if (moved == first[:, None]).all() else None
