"""ReverseSequence."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._agree import Labels, Shape
from ._indexing import in_bounds


class ReverseSequence(OnnxOp):
    """A ``flip`` where every sequence has full length, else ``reverse_sequence``."""

    name = "ReverseSequence"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        batch = attrs.get("batch_axis", 1)
        return [["batch" if k == batch else None for k in range(len(shapes[0] or ()))], ["batch"]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        time, batch = attrs.get("time_axis", 0), attrs.get("batch_axis", 1)
        data, known, size = inputs[0], inputs.known(1), inputs.shape(0)[time]
        if known is not None and bool(np.all(known == size)):
            return relax.op.flip(data, time)
        if known is None:
            lengths = ctx.checked(inputs[1], in_bounds(ctx, inputs[1], 0, size))
        else:
            if known.min() < 0:
                raise ctx.ill_typed(f"a sequence of {known.min()} elements")
            lengths, data = inputs[1], ctx.at_least(data, time, int(known.max()))
        return relax.op.reverse_sequence(data, lengths, time, batch)
