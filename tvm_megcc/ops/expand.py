"""Expand: broadcasting that may also keep the larger dim of the operand."""

from __future__ import annotations

from typing import Any

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Expand(OnnxOp):
    """``broadcast_to``."""

    name = "Expand"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, wanted = list(inputs.shape(0)), inputs.need_ints(1, "its shape")
        rank = max(len(shape), len(wanted))
        shape = [1] * (rank - len(shape)) + shape
        wanted = [1] * (rank - len(wanted)) + wanted
        dims = [_larger(a, b) for a, b in zip(shape, wanted, strict=True)]
        return relax.op.broadcast_to(inputs[0], dims) if dims != shape else inputs[0]


def _larger(have: Any, want: Any) -> Any:
    return have if isinstance(want, int) and want == 1 else want
