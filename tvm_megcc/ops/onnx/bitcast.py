"""BitCast (opset 26)."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper
from tvm import relax, te, tirx

from tvm_megcc.relax_tools.calls import op_name

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.stored import storage


class BitCast(OnnxOp):
    """``reinterpret`` of every element; a bool is its byte."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        wanted = helper.tensor_dtype_to_np_dtype(attrs["to"])
        x, target = inputs[0], str(wanted)
        if np.dtype(wanted).itemsize == 2 and expr_dtype(x) == "float32":
            x = _half(ctx, x)
        have = expr_dtype(x)
        if storage(target) is not None:
            raise ctx.unsupported(
                f"{have} as {target}, which is a type that is only stored",
                f"give bits of {target} as an input of that type",
            )
        if _bytes(have) != np.dtype(wanted).itemsize:
            raise ctx.unsupported(
                f"{have} as {target}, which has another width", "cast to a type of the same width"
            )
        if have == target:
            return x
        if "bool" in (have, target):
            return relax.op.astype(x, target)

        def bits(x: te.Tensor) -> te.Tensor:
            def element(*at: Any) -> Any:
                return tirx.reinterpret(target, x[at])

            return te.compute(x.shape, element, name="bits")

        return ctx.builder.emit_te(bits, x)


def _bytes(dtype: str) -> int:
    return 1 if dtype == "bool" else int("".join(c for c in dtype if c.isdigit())) // 8


def _half(ctx: Context, x: relax.Expr) -> relax.Expr:
    """The f16 or bf16 tensor that `x` widens; an error where `x` is a computed f32."""
    source = ctx.builder.lookup_binding(x) if isinstance(x, relax.Var) else None
    if source is not None and op_name(source) == "relax.astype":
        narrow = source.args[0]
        if expr_dtype(narrow) in ("float16", "bfloat16"):
            return narrow
    raise ctx.unsupported("the bits of a half precision result", "Cast it to half precision first")
