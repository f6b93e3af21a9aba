"""Drive TVM's own ONNX converters, node by node, for what `tvm_megcc.ops` does not convert."""

from __future__ import annotations

from functools import cache
from typing import Any

import onnx
from tvm import relax
from tvm.relax.frontend.onnx import onnx_frontend

from ..ops import Context, Inputs

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


def convert(ctx: Context, node: onnx.NodeProto, inputs: Inputs) -> relax.Expr:
    """TVM's conversion of a node, bound to a variable where it is not a tuple."""
    operands = onnx_frontend.onnx_input(list(inputs))
    attrs: dict[str, Any] = {
        "tvm_custom": {"name": ctx.label, "num_outputs": len(node.output)},
        **{a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
    }
    # TVM's converters expect tuples, where onnx gives lists.
    attrs = {key: tuple(v) if isinstance(v, list) else v for key, v in attrs.items()}
    function = _table()[ctx.op].get_converter(ctx.opset)
    return function(ctx.builder, operands, attrs, [{}, {}])
