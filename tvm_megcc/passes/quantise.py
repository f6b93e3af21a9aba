"""How ``relax.quantize`` to integers becomes TIR here: NaN is the least value of the type.

TVM's own clips NaN to NaN, of which a cast makes 0. ONNX says nothing of it; ONNX Runtime has the
least value, and so has every other cast of NaN here.
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
    numbers = [_number(param) for param in params]

    def quantise(x: te.Tensor, *given: te.Tensor) -> te.Tensor:
        tensors = iter(given)
        scale, point = (_at(next(tensors) if n is None else n, axis) for n in numbers)
        wide = str(x.dtype.dtype)
        low, high = (
            tirx.const(int(end(dtype).value), wide) for end in (tirx.min_value, tirx.max_value)
        )

        def element(*at: Any) -> Any:
            whole = tirx.round(x[at] / scale(at)) + point(at).astype(wide)
            clipped = tirx.min(tirx.max(whole, low), high)
            if "32" in dtype or "64" in dtype:
                return clipped.astype(dtype)
            # It keeps a NaN, of which the least int32 is made.
            least = tirx.const(int(low.value), "int32")
            return tirx.max(clipped.astype("int32"), least).astype(dtype)

        return te.compute(x.shape, element, name="quantised")

    given = [param for param, n in zip(params, numbers, strict=True) if n is None]
    return bb.call_te(quantise, x, *given, primfunc_name_hint="quantize")


def _number(param: relax.Expr) -> tvm.ir.Expr | None:
    """A constant without dims."""
    known = constant(param)
    return None if known is None or known.ndim else tirx.const(known.item(), str(known.dtype))


def _at(param: te.Tensor | tvm.ir.Expr, axis: int) -> Callable[[Sequence[Any]], tvm.ir.Expr]:
    """A scale or zero point of each element, from one for all or one for each place of an axis."""
    if not isinstance(param, te.Tensor):
        return lambda at: param
    if all(isinstance(dim, tirx.IntImm) and dim.value == 1 for dim in param.shape):
        return lambda at: param[(0,) * len(param.shape)]
    return lambda at: param[at[axis]]


#: For `relax.transform.LegalizeOps`.
LEGALISE = {"relax.quantize": _legalise}
