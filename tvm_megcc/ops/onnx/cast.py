"""Cast and CastLike: ``astype``; storage types (see `common.stored`) by their codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import TensorProto

from tvm_megcc.core.dtypes import DType, of_numpy, of_onnx

from ...shapes.arithmetic import Known, converted, dtype_of
from .. import Attrs, Context, Inputs, Result
from ..common.rows import row
from ..common.stock import convert
from ..common.stored import cast


def _cast(ctx: Context, inputs: Inputs, attrs: Attrs, to: DType) -> Result:
    result = cast(ctx, inputs, to, attrs)
    return convert(ctx, inputs, attrs) if result is None else result


def _to_attribute(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    to = of_onnx(attrs["to"])
    if to is None:
        name = TensorProto.DataType.Name(attrs["to"]).lower()
        raise ctx.unsupported(f"no tensor here can be {name}", "cast to another type")
    return _cast(ctx, inputs, attrs, to)


def _sizes_to_attribute(operands: Sequence[Any], attrs: Attrs) -> Known:
    to = of_onnx(attrs["to"])
    return converted(operands[0], None if to is None else to.numpy)


def _to_operand(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    to = of_numpy(inputs.dtype(1))
    assert to is not None, inputs.dtype(1)
    return _cast(ctx, inputs, attrs, to)


# fmt: off
OPERATORS = [
    row("Cast", "To the type of an attribute", takes_storage=True,
        convert=_to_attribute, on_sizes=_sizes_to_attribute),
    row("CastLike", "To the second operand's type", takes_storage=True, convert=_to_operand,
        on_sizes=lambda operands, attrs: converted(operands[0], dtype_of(operands[1]))),
]
# fmt: on
