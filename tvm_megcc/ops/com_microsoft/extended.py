"""ai.onnx's operators with more before or after them."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import Labels, Shape, convolution
from .. import Attrs, Context, Inputs, OnnxOp, Result, find
from ..common.activations import activate
from ..common.moved import channels_first, channels_last
from ..common.rows import row


def _operator(name: str) -> OnnxOp:
    """The operator of ai.onnx."""
    found = find("", name)
    assert found is not None, name
    return found


def _fused_conv(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    result = ctx.emit(_operator("Conv").convert(ctx, inputs, attrs))
    if inputs.has(3):
        other = ctx.agreeing(inputs[3], ctx.shape(result), "its convolution")
        result = ctx.emit(relax.op.add(result, other))
    if "activation" not in attrs:
        return result
    return activate(ctx, attrs["activation"], result, attrs.get("activation_params", []))


def _gemm_labels(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    return _operator("Gemm").labels(shapes, attrs)


def _fused_gemm(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    result = ctx.emit(_operator("Gemm").convert(ctx.at_opset(13), inputs, attrs))
    params = [attrs.get(f"activation_{name}") for name in ("alpha", "beta")]
    if "activation" not in attrs:
        return result
    return activate(ctx, attrs["activation"], result, params)


def _grid_sample(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return _operator("GridSample").convert(ctx.at_opset(16), inputs, attrs)


def _nhwc_max_pool(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    moved = inputs.of(ctx, [channels_first(ctx, inputs[0])])
    found = _operator("MaxPool").convert(ctx.at_opset(12), moved, attrs)
    return channels_last(ctx, ctx.emit(found))


# fmt: off
OPERATORS = [
    row("FusedConv", "Conv, ``add`` of the residual operand, then the named activation", OnnxOp,
        labels=convolution(0, 1), convert=_fused_conv),
    row("FusedGemm", "Gemm, then the named activation", OnnxOp,
        labels=_gemm_labels, convert=_fused_gemm),
    row("GridSample", "ai.onnx's of opset 16", OnnxOp, convert=_grid_sample),
    row("NhwcMaxPool", "MaxPool of NHWC", OnnxOp, convert=_nhwc_max_pool),
]
# fmt: on
