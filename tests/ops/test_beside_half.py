"""Every operator with f32 weights computes the same numbers in a model that has bf16 elsewhere.

Trained models in halves are in `tests/models/test_full_beside_half.py`; these rows have open dims.
"""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from tests.ops.contracts import Row, feed, joined
from tests.ops.packages import runner
from tests.ops.test_contracts import OPSET, ROWS

pytestmark = pytest.mark.slow


def _has_weights(row: Row) -> bool:
    arrays = [operand for operand in row.operands if isinstance(operand, np.ndarray)]
    return any(array.dtype == np.float32 and array.size > 1 for array in arrays)


def _model(rows: dict[str, Row], half: type) -> onnx.ModelProto:
    """The rows, beside a node of this type."""
    made = joined(rows, OPSET)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(half))
    made.graph.node.append(helper.make_node("Exp", ["half_x"], ["half_y"]))
    made.graph.input.append(helper.make_tensor_value_info("half_x", kind, [4]))
    made.graph.output.append(helper.make_tensor_value_info("half_y", kind, None))
    return made


def test_weights_in_f32_stay_in_f32(tmp_path: Path) -> None:
    rows = {name: row for name, row in ROWS.items() if _has_weights(row)}
    assert len(rows) > 20
    feeds = {k: v for name, row in rows.items() for k, v in feed(name, row, {}).items()}
    found = []
    for half in (np.float32, ml_dtypes.bfloat16):
        (folder := tmp_path / np.dtype(half).name).mkdir()
        found.append(runner(_model(rows, half), folder)({**feeds, "half_x": np.ones(4, half)}))
    plain, beside = found
    del plain["half_y"]
    for name, want in plain.items():  # a few units: another kernel may add in another order
        np.testing.assert_allclose(beside[name], want, rtol=1e-6, err_msg=name)
