"""TVM's own ONNX converters: for operators without a file here, and for `StockOp`.

An operator needs no file here if TVM's conversion is exact. A `StockOp` has facts on its operands,
or takes part in shape arithmetic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from onnx import numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import onnx_frontend

from ...shapes.arithmetic import Known
from ...shapes.constraints import Shape
from .context import Attrs, Context
from .inputs import Inputs
from .operator import OnnxOp, Result

#: Operators that TVM keeps in the same table although they belong to ONNX Runtime's domain.
_CONTRIB = {
    "FastGelu",
    "BiasGelu",
    "SkipLayerNormalization",
    "EmbedLayerNormalization",
    "Attention",
}
#: Not ONNX operators, or values that are not tensors.
_LEFT_OUT = {"AllClassNMS", "MatMulInteger16", "Constant", "SequenceConstruct", "SequenceEmpty",
             "SequenceErase", "SequenceInsert", "SequenceLength", "ConcatFromSequence",
             "SplitToSequence", "SequenceAt", "Optional", "OptionalHasElement",
             "OptionalGetElement"}  # fmt: skip


class StockOp(OnnxOp):
    """An operator that TVM converts; its class has the facts of `OnnxOp`."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return convert(ctx, inputs, attrs)


class OfShape(StockOp):
    """An operator whose result follows from the dims of its operand alone.

    It is converted only where those dims are known at run time only.
    """

    @abstractmethod
    def of_shape(self, shape: Shape, attrs: Attrs) -> Known:
        """The result for an operand with these dims."""


@cache
def _table() -> dict[str, Any]:
    return dict(onnx_frontend._get_convert_map())


def names() -> set[str]:
    """Every name in TVM's table, of whatever domain."""
    return set(_table())


def has(domain: str, op: str) -> bool:
    """Whether TVM converts the operator."""
    if op not in _table() or op in _LEFT_OUT:
        return False
    return domain == ("com.microsoft" if op in _CONTRIB else "")


def convert(ctx: Context, inputs: Inputs | Sequence[relax.Expr], attrs: Attrs) -> relax.Expr:
    """TVM's conversion of a node, bound to a variable where it is not a tuple."""
    operands = onnx_frontend.onnx_input(list(inputs))
    given: dict[str, Any] = {
        "tvm_custom": {"name": ctx.label, "num_outputs": len(ctx.outputs)},
        **{name: _raw(value) for name, value in attrs.items()},
    }
    function = _table()[ctx.op].get_converter(ctx.opset)
    return function(ctx.builder, operands, given, [{}, {}])


def _raw(value: Any) -> Any:
    """An attribute for TVM's converters: protobuf's types, but tuples for lists."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, np.ndarray):
        return numpy_helper.from_array(value)
    if isinstance(value, list):
        return tuple(_raw(item) for item in value)
    return value
