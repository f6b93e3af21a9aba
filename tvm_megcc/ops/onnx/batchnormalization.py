"""BatchNormalization, in inference and in training."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.defaults import EPSILON, f32


class BatchNormalization(OnnxOp):
    """``nn.batch_norm(...)[0]`` with the running statistics, for the passes to fold.

    In training the statistics are the batch's own, and the running ones move towards them. Until
    opset 13 a node is in training that has all five outputs: the last two are what the batch had.
    A tensor of one axis has one channel.
    """

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [[None] * len(shape or ()) for shape in shapes]
        for k, row in enumerate(labels):
            axis = 1 if k == 0 else 0
            if len(row) > axis and len(shapes[0] or ()) != 1:
                row[axis] = "channel"
        return labels

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        training = bool(attrs.get("training_mode", 0))
        if 7 <= ctx.opset < 14:
            training = all(ctx.wants(i) for i in range(1, 5))
        if not training and any(ctx.wants(i) for i in range(1, 5)):
            raise ctx.unsupported(
                f"gives statistics without training_mode (opset {ctx.opset})",
                "export with an opset of 14 or later, or for inference",
            )
        if attrs.get("spatial", 1) != 1:
            raise ctx.unsupported("spatial=0", "export with an opset of 9 or later")
        shape, dtype = inputs.shape(0), inputs.dtype(0)
        stats = [relax.op.astype(v, dtype) if inputs.dtype(i) != dtype else v
                 for i, v in enumerate(inputs) if 1 <= i <= 4]  # fmt: skip
        x, epsilon = inputs[0], attrs.get("epsilon", EPSILON)
        if len(shape) == 1:
            x = ctx.reshape(x, [*shape, 1])
            stats = [ctx.agreeing(ctx.emit(v), [1], "the one channel") for v in stats]
        if training:
            y, *more = _trained(ctx, inputs, x, stats, epsilon, attrs.get("momentum", f32(0.9)))
        else:
            normed = relax.op.nn.batch_norm(x, *stats, axis=1, epsilon=epsilon, training=False)
            y, more = relax.TupleGetItem(ctx.emit(normed), 0), []
        if len(shape) == 1:
            y = ctx.reshape(ctx.emit(y), shape)
        return (y, *more) if more else y


def _trained(
    ctx: Context,
    inputs: Inputs,
    x: relax.Expr,
    stats: list[relax.Expr],
    epsilon: float,
    momentum: float,
) -> list[relax.Expr]:
    """The operand by the statistics of the batch, and what becomes of the running ones."""
    op, shape, dtype = relax.op, ctx.shape(x), expr_dtype(x)
    axes = [k for k in range(len(shape)) if k != 1]
    spread = [d if k == 1 else 1 for k, d in enumerate(shape)]
    mean = ctx.emit(op.mean(x, axes))
    centred = ctx.emit(op.subtract(x, ctx.reshape(mean, spread)))
    variance = ctx.emit(op.mean(ctx.emit(op.multiply(centred, centred)), axes))
    root = ctx.emit(op.sqrt(ctx.emit(op.add(variance, ctx.const(epsilon, dtype)))))
    scale, bias = (ctx.reshape(v, spread) for v in stats[:2])
    normed = ctx.emit(op.divide(centred, ctx.reshape(root, spread)))
    y = ctx.emit(op.add(ctx.emit(op.multiply(normed, scale)), bias))
    moved = []
    for k, (old, new) in enumerate(zip(stats[2:], (mean, variance), strict=True), start=3):
        kept = op.multiply(old, ctx.const(momentum, dtype))
        part = op.multiply(new, ctx.const(1 - momentum, dtype))
        result = ctx.emit(op.add(ctx.emit(kept), ctx.emit(part)))
        moved.append(ctx.emit(op.astype(result, inputs.dtype(k))))
    return [y, *moved, mean, variance]
