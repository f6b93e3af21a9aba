"""Gemm: ``alpha * op(A) op(B) + beta * C``."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from tvm import relax

from ...shapes.constraints import BROADCAST, WHOLE, Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Gemm(OnnxOp):
    """``matmul`` with B transposed and scaled at import where it is known, then ``add``."""

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        rows, columns = (WHOLE, "m"), (WHOLE, "n")
        lhs: list[Hashable] = ["k", rows] if attrs.get("transA", 0) else [rows, "k"]
        rhs: list[Hashable] = [columns, "k"] if attrs.get("transB", 0) else ["k", columns]
        addend = shapes[2] if len(shapes) > 2 else None
        last: list[Hashable] = [(BROADCAST, "m"), (BROADCAST, "n")]
        return [lhs, rhs, *([last[2 - len(addend or ()) :]] if len(shapes) > 2 else [])]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 1.0)
        dtype = inputs.dtype(0)
        if "int" in dtype:
            alpha, beta = (self._whole(ctx, n, v) for n, v in (("alpha", alpha), ("beta", beta)))
        lhs = relax.op.permute_dims(inputs[0]) if attrs.get("transA", 0) else inputs[0]
        known = inputs.known(1)
        if known is not None:
            known = known.T if attrs.get("transB", 0) else known
            rhs = ctx.const(known if alpha == 1.0 else _scaled(known, alpha), dtype)
            result = relax.op.matmul(lhs, rhs)
        else:
            rhs = relax.op.permute_dims(inputs[1]) if attrs.get("transB", 0) else inputs[1]
            result = relax.op.matmul(lhs, rhs)
            if alpha != 1.0:
                result = relax.op.multiply(result, ctx.const(alpha, dtype))
        if not inputs.has(2) or beta == 0.0:
            return result
        addend = inputs.known(2)
        if addend is not None:
            bias = ctx.const(addend if beta == 1.0 else _scaled(addend, beta), dtype)
        elif beta == 1.0:
            bias = inputs[2]
        else:
            bias = relax.op.multiply(inputs[2], ctx.const(beta, dtype))
        return relax.op.add(result, bias)

    @staticmethod
    def _whole(ctx: Context, name: str, factor: float) -> int:
        """A factor of integers, as one: a product with a real number has no bits above 2^53."""
        if not factor.is_integer():
            raise ctx.unsupported(
                f"{name} is {factor} and its operands are integers", "give a whole number"
            )
        return int(factor)


def _scaled(values: np.ndarray, factor: float) -> np.ndarray:
    """A product; of integers its low bits, also by a factor that their type does not hold."""
    return values * (np.array(factor).astype(values.dtype) if values.dtype.kind in "iu" else factor)
