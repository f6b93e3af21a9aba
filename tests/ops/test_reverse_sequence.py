"""ReverseSequence with open dims and lengths that are known at run time only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto as T
from onnx import helper

from tests.ops.packages import ints, model, runner, signs
from tvm_megcc.errors import ToolError

pytestmark = pytest.mark.slow


def test_open_sizes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReverseSequence", ["x", "n"], ["y"], time_axis=0, batch_axis=1),
        helper.make_node("ReverseSequence", ["x", "m"], ["z"], time_axis=1, batch_axis=0),
    ]
    ports = [("x", T.FLOAT, ["a", "b", 3]), ("n", T.INT64, ["b"]), ("m", T.INT64, ["a"])]
    proto = model(nodes, ports, [("y", T.FLOAT), ("z", T.FLOAT)])
    run, session = runner(proto, tmp_path), ort.InferenceSession(proto.SerializeToString())
    for x, n, m in (
        (signs(4, 2, 3), ints(1, 3), ints(1, 2, 1, 2)),
        (signs(2, 3, 3), ints(2, 0, 1), ints(3, 2)),
        (signs(1, 1, 3), ints(1), ints(1)),
    ):
        feed = {"x": x, "n": n, "m": m}
        for name, want in zip("yz", session.run(None, feed), strict=True):
            np.testing.assert_array_equal(run(feed)[name], want)
    for n in (ints(1, 5), ints(-1, 2)):
        with pytest.raises(ToolError, match="out of range"):
            run({"x": signs(4, 2, 3), "n": n, "m": ints(1, 2, 1, 2)})
