"""Dropout, which is nothing in inference."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class Dropout(OnnxOp):
    """The operand; the mask, where it is used, is all true.

    In training it drops at random, which is refused: when the model is compiled, or, where only the
    run shows whether it is training and with which ratio, by ending that run.
    """

    name = "Dropout"
    single = {1: "ratio", 2: "training_mode"}
    random = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = inputs[0]
        training = inputs.known(2) if inputs.has(2) else False
        ratio = inputs.known(1) if inputs.has(1) else 0.5
        if (training is None or training) and (ratio is None or ratio != 0):
            if training is not None and ratio is not None:
                raise ctx.unsupported(
                    "is in training mode and drops at random", "export the model for inference"
                )
            x = ctx.checked(x, _keeps_all(ctx, inputs, training is None, ratio is None))
        if not ctx.wants(1):
            return x
        dtype = "bool" if ctx.opset >= 10 else inputs.dtype(0)
        return x, relax.op.full(ctx.prims(inputs.shape(0)), ctx.const(1, dtype), dtype)


def _keeps_all(ctx: Context, inputs: Inputs, by_mode: bool, by_ratio: bool) -> relax.Expr:
    """Whether it is no training, or the ratio is 0: what of it only the run shows."""
    found = []
    if by_mode:
        found.append(ctx.emit(relax.op.logical_not(ctx.reshape(inputs[2], []))))
    if by_ratio:
        ratio = ctx.reshape(inputs[1], [])
        found.append(ctx.emit(relax.op.equal(ratio, ctx.const(0, inputs.dtype(1)))))
    return found[0] if len(found) == 1 else ctx.emit(relax.op.logical_or(*found))
