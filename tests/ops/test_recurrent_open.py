"""LSTM, GRU and RNN over a number of steps that only the shapes say, in the C package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.fuzz import texts
from tests.ops.packages import model, runner
from tests.ops.test_control_flow import check_close
from tvm_megcc.errors import ToolError

F32 = np.float32
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SIZE, HIDDEN = 3, 5
RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(F32)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, "t"])
def test_no_steps(tmp_path: Path, steps: int | str) -> None:
    """The states stay what they were, of which ONNX Runtime makes something else."""
    nodes, weights = [], {}
    inputs = [("x", T.FLOAT, [steps, 2, SIZE]), ("lengths", T.INT32, [2])]
    for op, gates in GATES.items():
        states = [f"{op}_h0", f"{op}_c0"][: 1 + (op == "LSTM")]
        inputs += [(name, T.FLOAT, [2, 2, HIDDEN]) for name in states]
        weights[f"{op}_w"] = floats(2, gates * HIDDEN, SIZE)
        weights[f"{op}_r"] = floats(2, gates * HIDDEN, HIDDEN)
        nodes.append(
            helper.make_node(
                op, ["x", f"{op}_w", f"{op}_r", "", "lengths", *states],
                [f"{op}_y", *(f"{name}n" for name in states)],
                hidden_size=HIDDEN, direction="bidirectional",
            )
        )  # fmt: skip
    outputs = [(name, T.FLOAT) for node in nodes for name in node.output]
    run = runner(
        model(nodes, inputs, outputs, [numpy_helper.from_array(v, k) for k, v in weights.items()]),
        tmp_path,
    )

    def feed(t: int, lengths: list[int]) -> dict[str, np.ndarray]:
        states = {name: floats(*dims) for name, _, dims in inputs[2:]}
        return {"x": floats(t, 2, SIZE), "lengths": np.array(lengths, np.int32), **states}

    for given in [feed(0, [0, 0]), *([feed(3, [0, 2]), feed(3, [0, 0])] if steps else [])]:
        found = run(given)
        for node in nodes:
            for name, want in zip(node.output, texts.run(node, {**weights, **given}), strict=True):
                assert found[name].shape == want.shape
                np.testing.assert_allclose(found[name], want, rtol=1e-5, atol=1e-6)
    with pytest.raises(ToolError, match="out of range"):
        run(feed(0, [0, 1]))
