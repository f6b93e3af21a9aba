"""Operands that have one element are given several: one sentence names the node and the operand.

An operator whose class says so (`OnnxOp.single`) needs a row.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tvm_megcc import importers, ops
from tvm_megcc.errors import UnsupportedError

Array = np.ndarray


def floats(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def one(value: float, dtype: str = "int64") -> Array:
    return np.array(value, dtype)


IMAGE, BOXES = floats(4, 3), (floats(1, 4, 4), floats(1, 1, 4))
MEL = (one(4), one(16), one(100), one(0, "float32"), one(50, "float32"))
PAST = floats(1, 2, 8, 16)
#: Operator -> its operands; of those that have one element, what they are where they do.
ROWS: dict[str, tuple[Array, ...]] = {
    "TopK": (IMAGE, one(1)),
    "Trilu": (IMAGE, one(0)),
    "OneHot": (np.zeros(3, np.int64), one(3), floats(2)),
    "CumSum": (IMAGE, one(0)),
    "CumProd": (IMAGE, one(0)),
    "Clip": (IMAGE, one(0, "float32"), one(1, "float32")),
    "Pad": (IMAGE, np.ones(4, np.int64), one(0, "float32")),
    "Range": (one(0), one(5), one(1)),
    "DFT": (floats(1, 4, 1), one(4), one(1)),
    "STFT": (floats(1, 8, 1), one(2), floats(4), one(4)),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), (one(4),)),
    "MelWeightMatrix": MEL,
    "NonMaxSuppression": (*BOXES, one(2), one(0.5, "float32"), one(0, "float32")),
    "Dropout": (IMAGE, one(0.5, "float32"), one(False, "bool")),
    "Adagrad": (one(0.1, "float32"), one(0), IMAGE, IMAGE, IMAGE),
    "Momentum": (one(0.1, "float32"), one(0), IMAGE, IMAGE, IMAGE),
    "Adam": (one(0.1, "float32"), one(0), IMAGE, IMAGE, IMAGE, IMAGE),
    "GroupQueryAttention": (floats(1, 1, 64), floats(1, 1, 32), floats(1, 1, 32), PAST, PAST,
                            np.array([8], np.int32), one(9, "int32")),
}  # fmt: skip
ATTRIBUTES = {
    "GroupQueryAttention": {"num_heads": 4, "kv_num_heads": 2},
    "Momentum": {"alpha": 0.9, "beta": 0.1, "mode": "standard", "norm_coefficient": 0.0},
}
CLASSES = {op.name: op for op in ops.registered().values() if op.single}
CASES = [(name, k) for name, op in CLASSES.items() for k in op.single]


def model(op: str, index: int, count: int, known: bool) -> onnx.ModelProto:
    """A node of which operand `index` has `count` elements, an initialiser where it is `known`."""
    domain = CLASSES[op].domain
    operands = list(ROWS[op])
    operands[index] = np.full(count, operands[index].reshape(-1)[0])
    ports, weights = [], []
    for k, array in enumerate(operands):
        if k == index and known or k != index and not array.ndim:
            weights.append(numpy_helper.from_array(array, f"x{k}"))
        else:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            ports.append(helper.make_tensor_value_info(f"x{k}", kind, array.shape))
    names = [f"x{k}" for k in range(len(operands))]
    outputs = ["y", "at"][: 2 if op == "TopK" else 1]
    node = helper.make_node(op, names, outputs, "here", domain=domain, **ATTRIBUTES.get(op, {}))
    graph = helper.make_graph(
        [node], "g", ports, [helper.make_empty_tensor_value_info(y) for y in outputs], weights
    )
    opsets = [helper.make_opsetid("", 26)]
    opsets += [helper.make_opsetid(domain, 1)] if domain else []
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_every_operator_has_a_row() -> None:
    assert set(CLASSES) == set(ROWS)


@pytest.mark.parametrize("known", [False, True], ids=["at run time", "constant"])
@pytest.mark.parametrize("count", [2, 46341])
@pytest.mark.parametrize(("op", "index"), CASES)
def test_several(op: str, index: int, count: int, known: bool) -> None:
    with pytest.raises(UnsupportedError, match=f"{op} 'here': .*elements, not one") as caught:
        importers.import_model(model(op, index, count, known))
    assert len(str(caught.value)) < 300
