"""ai.onnx.ml::ZipMap."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result


class ZipMap(OnnxOp):
    """The matrix itself: what would be the maps' keys are the labels of its columns, in order."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return inputs[0]
