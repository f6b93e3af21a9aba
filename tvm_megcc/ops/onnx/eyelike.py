"""EyeLike."""

from __future__ import annotations

from typing import Any

from onnx import helper
from tvm import relax, te, tirx

from .. import Attrs, Context, Inputs, OnnxOp, Result

#: Types that the importer computes with in float32.
_HALVES = {"float16", "bfloat16"}


class EyeLike(OnnxOp):
    """Ones where the column is the row plus k: of the operand only dims and type matter."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims = inputs.shape(0)
        if len(dims) not in (1, 2):
            raise ctx.ill_typed(f"its operand has {len(dims)} dims where it takes 1 or 2")
        dtype = inputs.dtype(0)
        if "dtype" in attrs:
            dtype = str(helper.tensor_dtype_to_np_dtype(attrs["dtype"]))
        shape, k = ctx.prims([dims[0], dims[-1]]), int(attrs.get("k", 0))
        wide = "float32" if dtype in _HALVES else dtype

        def eye() -> te.Tensor:
            def element(row: Any, column: Any) -> Any:
                on = tirx.Cast("int64", column) - tirx.Cast("int64", row) == k
                return tirx.Cast(wide, on)

            return te.compute(shape, element, name="eye")

        result = ctx.builder.emit_te(eye)
        return result if dtype == wide else relax.op.astype(result, dtype)
