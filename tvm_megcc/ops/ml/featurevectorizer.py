"""ai.onnx.ml::FeatureVectorizer."""

from __future__ import annotations

from tvm import relax

from ...dims import product
from .. import Attrs, Context, Inputs, OnnxOp, Result


class FeatureVectorizer(OnnxOp):
    """The columns of all operands, in f32; of each as many as are asked for, zeros behind."""

    name = "FeatureVectorizer"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, parts = relax.op, []
        wanted = attrs.get("inputdimensions") or [None] * len(inputs)
        for k, count in enumerate(wanted):
            shape = inputs.shape(k)
            rows = shape[0] if len(shape) > 1 else 1
            (columns,) = ctx.static([product(shape[1:] if len(shape) > 1 else shape)])
            part = ctx.reshape(ctx.emit(op.astype(inputs[k], "float32")), [rows, columns])
            if count is not None and count < columns:
                part = ctx.emit(op.strided_slice(part, [1], [0], [count], [1]))
            elif count is not None and count > columns:
                part = ctx.emit(op.nn.pad(part, [0, 0, 0, count - columns]))
            parts.append(part)
        return op.concat(parts, 1)
