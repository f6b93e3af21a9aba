"""BatchNormalization in inference."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._agree import Labels, Shape


class BatchNormalization(OnnxOp):
    """``nn.batch_norm(...)[0]`` with the running statistics, for the passes to fold."""

    name = "BatchNormalization"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [[None] * len(shape or ()) for shape in shapes]
        for k, row in enumerate(labels):
            axis = 1 if k == 0 else 0
            if len(row) > axis:
                row[axis] = "channel"
        return labels

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if attrs.get("training_mode", 0) or any(ctx.wants(i) for i in range(1, 5)):
            raise ctx.unsupported("is in training mode", "export the model for inference")
        if attrs.get("spatial", 1) != 1:
            raise ctx.unsupported("spatial=0", "export with an opset of 9 or later")
        dtype = inputs.dtype(0)
        stats = [relax.op.astype(v, dtype) if inputs.dtype(i) != dtype else v
                 for i, v in enumerate(inputs) if 1 <= i <= 4]  # fmt: skip
        normed = relax.op.nn.batch_norm(
            inputs[0],
            *stats,
            axis=min(1, inputs.rank(0) - 1),
            epsilon=attrs.get("epsilon", 1e-5),
            training=False,
        )
        return relax.TupleGetItem(ctx.emit(normed), 0)
