"""What the operands of an operator must have in common, as rows: nodes with open dims.

A row has sizes with which its node runs, and others which break ONNX's rules for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

Dims = Sequence[int | str]

#: ONNX's element types by numpy's names.
TYPES = {
    "float32": T.FLOAT, "int64": T.INT64, "int32": T.INT32, "bool": T.BOOL, "uint8": T.UINT8,
    "int8": T.INT8,
}  # fmt: skip


@dataclass(frozen=True)
class Port:
    """An operand that is given at run time: its dims (open ones by name), and what is in it."""

    dims: Dims
    dtype: str = "float32"
    values: Any = None  # a number for all elements, or an array; else random


@dataclass(frozen=True)
class Row:
    """A node, its operands (arrays: the model's own), sizes that fit, and sizes that do not.

    Each of `bad` changes some of `good`; a key that is the name of a port gives it other `values`.
    """

    op: str
    operands: Sequence[Port | np.ndarray | None]
    good: dict[str, int]
    bad: Sequence[dict[str, Any]]
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    domain: str = ""


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.5, 1.5, shape).astype("float32")


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def joined(rows: dict[str, Row], opset: int) -> onnx.ModelProto:
    """All rows as one model; dims and ports have the name of their row in front."""
    nodes, inputs, outputs, weights = [], [], [], []
    for name, row in rows.items():
        operands = []
        for k, operand in enumerate(row.operands):
            operands.append("" if operand is None else f"{name}_{k}")
            if isinstance(operand, np.ndarray):
                weights.append(numpy_helper.from_array(operand, operands[-1]))
            elif operand is not None:
                dims = [f"{name}_{d}" if isinstance(d, str) else d for d in operand.dims]
                kind = TYPES[operand.dtype]
                inputs.append(helper.make_tensor_value_info(operands[-1], kind, dims))
        results = [f"{name}_y{k}" for k in range(row.outputs)]
        nodes.append(
            helper.make_node(row.op, operands, results, name, domain=row.domain, **row.attrs)
        )
        outputs += [helper.make_tensor_value_info(r, T.UNDEFINED, None) for r in results]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    others = {"com.microsoft": 1, "ai.onnx.ml": 3, "ai.onnx.preview.training": 1}
    domains = [helper.make_opsetid(*row) for row in [("", opset), *others.items()]]
    return helper.make_model(graph, opset_imports=domains, ir_version=10)


def feed(name: str, row: Row, changed: dict[str, Any]) -> dict[str, np.ndarray]:
    """Values of the row's ports, with these sizes in place of the good ones."""
    sizes = {**row.good, **changed}
    found = {}
    for k, port in enumerate(row.operands):
        if not isinstance(port, Port):
            continue
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in port.dims)
        values = changed.get(str(k), port.values)
        if values is None:
            values = np.random.default_rng(7).uniform(0, 2, shape)
        found[f"{name}_{k}"] = np.array(np.broadcast_to(values, shape), port.dtype)
    return found
