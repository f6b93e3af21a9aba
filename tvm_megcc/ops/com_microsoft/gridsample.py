"""com.microsoft::GridSample, which came to be ai.onnx's."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result, find


class GridSample(OnnxOp):
    """GridSample of opset 16."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        sample = find("", "GridSample")
        assert sample is not None
        return sample.convert(ctx.at_opset(16), inputs, attrs)
