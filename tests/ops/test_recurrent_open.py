"""LSTM, GRU and RNN over a number of steps that only the shapes say, in the C package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.ops.packages import model
from tests.ops.test_control_flow import check_close

F32 = np.float32
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SIZE, HIDDEN = 3, 5
RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(F32)


@pytest.mark.parametrize(
    ("op", "direction", "masked"),
    [
        ("LSTM", "forward", False),
        ("LSTM", "bidirectional", True),
        ("GRU", "reverse", True),
        ("GRU", "bidirectional", False),
        ("RNN", "reverse", False),
        ("RNN", "forward", True),
    ],
)
def test_open_steps_and_batch(tmp_path: Path, op: str, direction: str, masked: bool) -> None:
    directions, gates = 1 + (direction == "bidirectional"), GATES[op]
    weights = {
        "w": floats(directions, gates * HIDDEN, SIZE),
        "r": floats(directions, gates * HIDDEN, HIDDEN),
        "b": floats(directions, 2 * gates * HIDDEN),
    }
    names = ["y", "h", "c"] if op == "LSTM" else ["y", "h"]
    inputs = [("x", T.FLOAT, ["t", "n", SIZE])]
    if masked:
        inputs.append(("lengths", T.INT32, ["n"]))
    node = helper.make_node(
        op, ["x", "w", "r", "b", "lengths" if masked else ""], names,
        hidden_size=HIDDEN, direction=direction,
    )  # fmt: skip
    proto = model(
        [node], inputs, [(n, T.FLOAT) for n in names],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )  # fmt: skip
    feeds = []
    for t, n in ((4, 2), (1, 1), (7, 3)):
        feed = {"x": floats(t, n, SIZE)}
        if masked:
            feed["lengths"] = RNG.integers(1, t + 1, n).astype(np.int32)
        feeds.append(feed)
    check_close(proto, tmp_path, *feeds)
