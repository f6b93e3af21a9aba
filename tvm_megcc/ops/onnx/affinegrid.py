"""AffineGrid (opset 20)."""

from __future__ import annotations

from typing import Any

from tvm import te, tirx

from .. import Attrs, Context, Inputs, OnnxOp, Result


class AffineGrid(OnnxOp):
    """The places between -1 and 1 of a regular grid, last axis first, times each matrix."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, _, *dims = inputs.need_ints(1, "its size", 0)
        rank = len(dims)
        if rank not in (2, 3):
            raise ctx.ill_typed(f"a size of {rank + 2} numbers where it takes 4 or 5")
        theta = ctx.cast(inputs[0], [batch, rank, rank + 1])
        corners = bool(attrs.get("align_corners", 0))
        dtype = inputs.dtype(0)
        shape = ctx.prims([batch, *dims, rank])

        def place(at: Any, size: Any) -> Any:
            at, size = tirx.Cast(dtype, at), tirx.Cast(dtype, size)
            one, two = tirx.const(1, dtype), tirx.const(2, dtype)
            if corners:  # a single place is the first one
                return two * at / tirx.max(size - one, one) - one
            return (two * at + one) / size - one

        def grid(theta: te.Tensor) -> te.Tensor:
            def element(n: Any, *at: Any) -> Any:
                row = at[rank]
                total = theta[n, row, rank]
                for k in range(rank):
                    axis = rank - 1 - k
                    total = total + theta[n, row, k] * place(at[axis], shape[1 + axis])
                return total

            return te.compute(shape, element, name="grid")

        return ctx.builder.emit_te(grid, theta)
