"""com.microsoft::FusedGemm."""

from __future__ import annotations

from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, OnnxOp, Result, find
from ..common.activations import activate
from ..onnx.gemm import Gemm


class FusedGemm(OnnxOp):
    """Gemm, then the named activation."""

    name = "FusedGemm"

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return Gemm().labels(shapes, attrs)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        gemm = find("", "Gemm")
        assert gemm is not None
        result = ctx.emit(gemm.convert(ctx.at_opset(13), inputs, attrs))
        params = [attrs.get(f"activation_{name}") for name in ("alpha", "beta")]
        if "activation" not in attrs:
            return result
        return activate(ctx, attrs["activation"], result, params)
