"""ReverseSequence."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class ReverseSequence(OnnxOp):
    """A ``flip`` where every sequence has full length, else ``reverse_sequence``."""

    name = "ReverseSequence"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        time, batch = attrs.get("time_axis", 0), attrs.get("batch_axis", 1)
        known = inputs.known(1)
        if known is not None and bool(np.all(known == inputs.shape(0)[time])):
            return relax.op.flip(inputs[0], time)
        return relax.op.reverse_sequence(inputs[0], inputs[1], time, batch)
