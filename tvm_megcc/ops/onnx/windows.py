"""Windows that are sums of cosines, of a length that may be known at run time only."""

from __future__ import annotations

from math import pi
from typing import ClassVar

import onnx
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import counted
from ..common.rows import row


class CosineWindow(OnnxOp):
    """``sum(weights[k] * cos(2 * pi * k * n / length))``, in f64; symmetric ones are 1 shorter."""

    weights: ClassVar[tuple[float, ...]]
    single = {0: "size"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op = relax.op
        dtype = onnx.helper.tensor_dtype_to_np_dtype(attrs.get("output_datatype", 1)).name
        (size,) = inputs.need_ints(0, "its size", low=0)
        if isinstance(size, int) and size < 0:
            raise ctx.ill_typed(f"its size is {size}")
        counted(ctx, size)
        number = ctx.emit(op.astype(op.arange(0, ctx.prim(size), 1, "int64"), "float64"))
        length = size if attrs.get("periodic", 1) else size - 1
        turn = op.divide(ctx.const(2 * pi, "float64"), ctx.sizes([length], "float64"))
        angle = ctx.emit(op.multiply(number, ctx.emit(turn)))
        result = ctx.const(self.weights[0], "float64")
        for k, weight in enumerate(self.weights[1:], start=1):
            wave = ctx.emit(op.cos(ctx.emit(op.multiply(angle, ctx.const(k, "float64")))))
            part = ctx.emit(op.multiply(wave, ctx.const(weight, "float64")))
            result = ctx.emit(op.add(result, part))
        return op.astype(result, dtype)


OPERATORS = [
    row("BlackmanWindow", "Blackman's", CosineWindow, weights=(0.42, -0.5, 0.08)),
    row("HammingWindow", "Hamming's", CosineWindow, weights=(25 / 46, -21 / 46)),
    row("HannWindow", "Hann's", CosineWindow, weights=(0.5, -0.5)),
]
