"""ReverseSequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax, te, tirx

from ...dims import compare
from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result


class ReverseSequence(OnnxOp):
    """A ``flip`` where every sequence has full length, else a gather that turns their starts."""

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [[None] * len(shapes[0] or ()), ["batch"]]
        if shapes[0] is not None:
            labels[0][normal_axis(attrs.get("batch_axis", 1), len(shapes[0]))] = "batch"
        return labels

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        time, batch = (
            normal_axis(attrs.get(f"{name}_axis", default), rank)
            for default, name in enumerate(("time", "batch"))
        )
        if time == batch:
            raise ctx.ill_typed(f"has time and batch on axis {time}")
        shape, (count,) = inputs.shape(0), inputs.shape(1)
        if compare("eq", shape[batch], count) == 0:
            raise ctx.ill_typed(f"has {count} lengths for {shape[batch]} sequences")
        known = inputs.known(1)
        if known is not None and bool(np.all(known == shape[time])):
            return relax.op.flip(inputs[0], time)
        lengths = self._checked(ctx, inputs[1], shape[time])

        def turned(x: te.Tensor, lengths: te.Tensor) -> te.Tensor:
            def element(*at: Any) -> Any:
                # Kernels read inside their tensors whatever the numbers are.
                last = tirx.max(tirx.min(lengths[at[batch]], tirx.Cast("int64", x.shape[time])), 0)
                here = tirx.Cast("int64", at[time])
                there = tirx.if_then_else(here < last, last - 1 - here, here)
                return x[(*at[:time], there, *at[time + 1 :])]

            return te.compute(x.shape, element, name="reverse_sequence")

        return ctx.builder.call_te(turned, inputs[0], lengths)

    @staticmethod
    def _checked(ctx: Context, lengths: relax.Expr, most: Any) -> relax.Expr:
        """The lengths, where none is longer than there are steps."""
        longest = ctx.emit(relax.op.max(lengths))
        shortest = ctx.emit(relax.op.min(lengths))
        limit = ctx.emit(relax.op.reshape(ctx.sizes([most], "int64"), []))
        fits = relax.op.logical_and(
            ctx.emit(relax.op.less_equal(longest, limit)),
            ctx.emit(relax.op.greater_equal(shortest, ctx.const(0, "int64"))),
        )
        return ctx.checked(lengths, ctx.emit(fits))
