"""TIR of ``relax.quantize`` to integers, where NaN becomes the least value of the type.

TVM's own clips NaN to NaN, which a cast turns into 0. ONNX does not define it; ONNX Runtime gives
the least value, and so does every other cast of NaN here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax, te, tirx

from tvm_megcc.relax_tools.exprs import constant

_TVMS = tvm.ir.Op.get("relax.quantize").get_attr("FLegalize")


def _legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    x, *params = call.args
    dtype = str(call.attrs.out_dtype)
    if "int" not in dtype:
        return _TVMS(bb, call)
    axis = int(call.attrs.axis) % max(len(x.ty.shape.values), 1)
    numbers = [_number(params[0], divides=True), _number(params[1])]

    def quantise(x: te.Tensor, *given: te.Tensor) -> te.Tensor:
        tensors = iter(given)
        scale, point = (_at(next(tensors) if n is None else n, axis) for n in numbers)
        wide = str(x.dtype.dtype)
        ends = [int(end(dtype).value) for end in (tirx.min_value, tirx.max_value)]

        def element(*at: Any) -> Any:
            steps = tirx.round(x[at] / scale(at))
            if "32" in dtype or "64" in dtype:
                low, high = (tirx.const(end, wide) for end in ends)
                whole = steps + point(at).astype(wide)
                return tirx.min(tirx.max(whole, low), high).astype(dtype)
            # Of a NaN, and of what is below, the least int32 is made. They are clamped as
            # integers, which is cheaper, and before the zero point is added: nothing wraps.
            low, high = (tirx.const(end, "int32") for end in ends)
            zero = point(at).astype("int32")
            if not isinstance(zero, tirx.IntImm):
                # Ends that depend on it would make TVM add it first, when it makes TIR of this.
                near = tirx.const(1 << 17, "int32")
                whole = tirx.min(tirx.max(steps.astype("int32"), -near), near) + zero
                return tirx.min(tirx.max(whole, low), high).astype(dtype)
            whole = tirx.min(tirx.max(steps.astype("int32"), low - zero), high - zero)
            return (whole + zero).astype(dtype)

        return te.compute(x.shape, element, name="quantised")

    given = [param for param, n in zip(params, numbers, strict=True) if n is None]
    return bb.call_te(quantise, x, *given, primfunc_name_hint="quantize")


def _number(param: relax.Expr, divides: bool = False) -> tvm.ir.Expr | None:
    """A scalar constant as a number of TIR, except a divisor 0, which TVM refuses."""
    known = constant(param)
    if known is None or known.ndim or (divides and known == 0):
        return None
    return tirx.const(known.item(), str(known.dtype))


def _at(param: te.Tensor | tvm.ir.Expr, axis: int) -> Callable[[Sequence[Any]], tvm.ir.Expr]:
    """Scale or zero point by index of an element, from one for all or one along `axis`."""
    if not isinstance(param, te.Tensor):
        return lambda at: param
    if all(isinstance(dim, tirx.IntImm) and dim.value == 1 for dim in param.shape):
        return lambda at: param[(0,) * len(param.shape)]
    return lambda at: param[at[axis]]


#: For `relax.transform.LegalizeOps`.
LEGALISE = {"relax.quantize": _legalise}
