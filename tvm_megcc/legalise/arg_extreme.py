"""TIR of ``relax.argmax`` and ``relax.argmin``, which begins with the first element.

TVM's own begin with the lowest finite number at index -1, and keep it for a line of infinities or
NaN alone. Here a NaN is the extreme, as for ``relax.max`` and in NumPy; ONNX does not define it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax, te, tirx, topi


def _legalise(largest: bool, bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    axis, keep = call.attrs.axis, bool(call.attrs.keepdims)
    axis = None if axis is None else int(axis)
    hint = "argmax" if largest else "argmin"
    return bb.call_te(_lines, call.args[0], axis, keep, largest, primfunc_name_hint=hint)


def _lines(x: te.Tensor, axis: int | None, keep: bool, largest: bool) -> te.Tensor:
    rank = len(x.shape)
    if axis is None:
        found = _along(topi.reshape(x, [topi.utils.prod(x.shape)]), 0, largest)
        return topi.reshape(found, [1] * rank) if keep else found
    axis %= rank
    found = _along(x, axis, largest)
    shape = [*x.shape[:axis], 1, *x.shape[axis + 1 :]]
    return topi.reshape(found, shape) if keep else found


def _along(x: te.Tensor, axis: int, largest: bool) -> te.Tensor:
    """Index of the first extreme of each line along an axis, or of its first NaN."""
    may_be_nan = "float" in str(x.dtype.dtype)

    def better(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        above = b[1] > a[1] if largest else b[1] < a[1]
        if may_be_nan:
            above = tirx.all(tirx.any(above, tirx.isnan(b[1])), tirx.Not(tirx.isnan(a[1])))
        taken = tirx.any(b[0] == 0, above)
        return [tirx.Select(taken, new, old) for new, old in zip(b, a, strict=True)]

    def identity(index: str, value: str) -> list[Any]:
        return [tirx.const(0, index), tirx.const(0, value)]

    extreme = te.comm_reducer(better, identity, name="extreme")
    k = te.reduce_axis((0, x.shape[axis]), "k")
    shape = [*x.shape[:axis], *x.shape[axis + 1 :]]

    def element(*at: Any) -> Any:
        here = x[(*at[:axis], k.var, *at[axis:])]
        return extreme((tirx.Cast("int64", k.var), here), axis=k)

    return te.compute(shape, element, name="extreme")[0]


#: For `relax.transform.LegalizeOps`.
LEGALISE = {
    "relax.argmax": lambda bb, call: _legalise(True, bb, call),
    "relax.argmin": lambda bb, call: _legalise(False, bb, call),
}
