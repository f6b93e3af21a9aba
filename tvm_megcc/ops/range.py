"""Range, for lengths that depend on the shapes or are too large to fold."""

from __future__ import annotations

from tvm import relax

from ..dims import maximum
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._sizes import NotShapes, Real


class Range(OnnxOp):
    """``arange`` from 0, times the step, plus the start."""

    name = "Range"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(0)
        given = [inputs.reals(k) for k in range(3)]
        if any(values is None for values in given):
            # The error says which of them.
            for k, what in enumerate(("its start", "its limit", "its step")):
                inputs.need_ints(k, what)
        try:
            start, limit, step = (Real.of(_whole(values[0])) for values in given if values)
            count = maximum(((limit - start) / step).ceil(), 0)
        except NotShapes:
            raise ctx.unsupported(
                "its length is no quotient of sizes", "make its operands constants of the model"
            ) from None
        result = relax.op.arange(0, ctx.prim(count), 1, dtype)
        if step != Real(1):
            result = relax.op.multiply(ctx.emit(result), inputs[2])
        if start != Real(0):
            result = relax.op.add(ctx.emit(result), inputs[0])
        return result


def _whole(value: float | Real) -> float | int | Real:
    return int(value) if isinstance(value, float) and value == int(value) else value
