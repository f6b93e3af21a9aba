"""Evaluate nodes whose operands are arrays of sizes: shape arithmetic on symbolic dims.

Enters: a node and its operands, known arrays and at least one `SizeArray`. Leaves: its results, or
None where no size can express them. So the result of ``Shape`` reaches Reshape, Expand, ... as dims
of a Relax shape, and no tensor is computed for it.

The operator's class in `tvm_megcc.ops` computes (`OnnxOp.on_sizes`). Operators that only permute or
copy elements (`moves`) are evaluated by onnx's reference implementation on the elements' numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from .. import ops
from ..dims import Undecided
from ..shapes.arithmetic import Array, Attrs, Known, dtype_of, items_of
from ..shapes.sizes import Item, NotShapes, Real, SizeArray, size_array
from . import fold


def evaluate(
    node: onnx.NodeProto,
    operands: Sequence[Known | None],
    attrs: Attrs,
    opsets: Mapping[str, int],
) -> list[Known] | None:
    """The results of a node with a symbolic operand, None where it is no shape arithmetic."""
    op = ops.find(node.domain, node.op_type)
    if op is None:
        return None
    try:
        if not op.moves:
            return [op.on_sizes(operands, attrs)]
        return _moved(node, operands, op.moves, opsets) if op.only_moves(attrs) else None
    except (NotShapes, Undecided, ArithmeticError, LookupError, ValueError):
        return None  # also for operands that do not fit: the converter has the message


def _moved(
    node: onnx.NodeProto,
    operands: Sequence[Known | None],
    data: Sequence[int],
    opsets: Mapping[str, int],
) -> list[Known] | None:
    elements: list[Item] = [0]  # what Pad fills in by default
    numbered: list[Array | None] = []
    for position, operand in enumerate(operands):
        if position not in data or operand is None:
            if isinstance(operand, SizeArray):
                return None
            numbered.append(operand)
            continue
        items = items_of(operand)
        numbers = np.arange(items.size, dtype=np.int64).reshape(items.shape) + len(elements)
        elements += list(items.reshape(-1))
        numbered.append(numbers)
    present = (operands[k] for k in data if k < len(operands))
    dtype = next(dtype_of(operand) for operand in present if operand is not None)
    if "float" in dtype:
        elements[0] = Real(0)
    moved = fold.fold(node, numbered, opsets)
    if moved is None:
        return None
    return [size_array([elements[k] for k in a.reshape(-1)], a.shape, dtype) for a in moved]
