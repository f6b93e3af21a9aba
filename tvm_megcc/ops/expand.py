"""Expand: broadcasting that may also keep the larger dim of the operand."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import relax

from ..dims import Size
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._agree import effort


class Expand(OnnxOp):
    """``broadcast_to``."""

    name = "Expand"
    moves = (0,)

    def generated(self, operands: Sequence[Any]) -> int:
        # A wanted dim may be the operand's own: this bounds the result's size from above.
        return operands[0].size * prod(int(d) for d in operands[1])

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, wanted = list(inputs.shape(0)), inputs.need_ints(1, "its shape", 1)
        rank = max(len(shape), len(wanted))
        shape = [1] * (rank - len(shape)) + shape
        wanted = [1] * (rank - len(wanted)) + wanted
        kept = [_kept(a, b) for a, b in zip(shape, wanted, strict=True)]
        dims = [b if a == 1 else a for a, b in zip(kept, wanted, strict=True)]
        data = ctx.cast(inputs[0], kept[rank - inputs.rank(0) :])
        return relax.op.broadcast_to(data, ctx.prims(dims)) if dims != shape else data


def _kept(have: Size, want: Size) -> Size:
    """What the operand's dim has to be: a symbolic one that is not the wanted one must be equal."""
    if want == 1 or isinstance(have, int):
        return have
    return min(have, want, key=effort)
