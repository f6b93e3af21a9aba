"""Expand: broadcasting that may also keep the larger dim of the operand."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...shapes.broadcast import expand_to, expandable, expanded_size
from .. import Attrs, Context, Inputs, OnnxOp, Result


class Expand(OnnxOp):
    """``broadcast_to``."""

    moves = (0,)

    def generated(self, operands: Sequence[Any]) -> int:
        # A wanted dim may be the operand's own: this bounds the result's size from above.
        return int(operands[0].size) * prod(int(d) for d in operands[1])

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, wanted = inputs[0], inputs.need_ints(1, "its shape", 0)
        rank = max(inputs.rank(0), len(wanted))
        wanted = [1] * (rank - len(wanted)) + wanted
        first = rank - inputs.rank(0)
        for axis, want in enumerate(wanted[first:]):
            have = inputs.shape(0)[axis]
            if isinstance(want, int) and isinstance(have, int) and len({1, have, want}) == 3:
                raise ctx.ill_typed(f"dim {axis} is {have}, which is not expanded to {want}")
            data = expandable(ctx, data, axis, want)
        pairs = zip([1] * first + list(ctx.shape(data)), wanted, strict=True)
        dims = [expanded_size(have, want) for have, want in pairs]
        if first and prod(dims[:first]) == 1:  # leading dims of 1 are a view
            return ctx.reshape(expand_to(ctx, data, dims[first:]), dims)
        return expand_to(ctx, data, dims)
