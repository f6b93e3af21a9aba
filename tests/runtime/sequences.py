"""Models of sequences, for one step or a whole sequence: only the number of frames differs."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

#: Elements of a frame and of a result.
SIZE, HIDDEN = 5, 12
#: What each has as states: input -> output.
STATES = {
    "GRU": {"h": "h_next"},
    "LSTM": {"h": "h_next", "c": "c_next"},
    "Conv": {"first": "first_next", "second": "second_next"},
}
_GATES = {"GRU": 3, "LSTM": 4}


def model(kind: str, frames: int) -> ModelProto:
    """One of `STATES`: a recurrent layer, or two convolutions over the frames of the past.

    Port ``x`` is ``[frames, 1, SIZE]`` of a recurrent layer, else ``[1, SIZE, frames]``.
    """
    nodes, weights, shapes = (_recurrent if kind in _GATES else _convolutions)(kind)
    dims = [frames, 1, SIZE] if kind in _GATES else [1, SIZE, frames]
    port = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "sequence",
        [port("x", TensorProto.FLOAT, dims)]
        + [port(n, TensorProto.FLOAT, s) for n, s in zip(STATES[kind], shapes, strict=True)],
        [port(n, TensorProto.FLOAT, None) for n in ("y", *STATES[kind].values())],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )  # fmt: skip
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


_Parts = tuple[list[NodeProto], dict[str, np.ndarray], list[list[int]]]


def _recurrent(kind: str) -> _Parts:
    """The layer; a state decays slowly, so that a step depends on many before it."""
    rng, gates = np.random.default_rng(1), _GATES[kind]
    weights = {
        "w": rng.standard_normal((1, gates * HIDDEN, SIZE)) / np.sqrt(SIZE),
        "r": rng.standard_normal((1, gates * HIDDEN, HIDDEN)) / np.sqrt(HIDDEN),
        "b": np.concatenate([np.full((1, gates * HIDDEN), 1.5), np.zeros((1, gates * HIDDEN))], 1),
    }
    node = helper.make_node(
        kind, ["x", "w", "r", "b", "", *STATES[kind]], ["y", *STATES[kind].values()],
        hidden_size=HIDDEN,
    )  # fmt: skip
    return (
        [node],
        {n: a.astype("f4") for n, a in weights.items()},
        [[1, 1, HIDDEN]] * len(STATES[kind]),
    )


def _convolutions(kind: str) -> _Parts:
    """Windows of three frames, then of three that are two apart: 2 and 4 frames of the past."""
    rng, nodes = np.random.default_rng(2), []
    weights = {"end": np.array([np.iinfo(np.int64).max]), "axis": np.array([2])}
    given, shapes, channels = "x", [], SIZE
    for state, apart in zip(STATES[kind], (1, 2), strict=True):
        past = 2 * apart
        shapes.append([1, channels, past])
        drawn = rng.standard_normal((HIDDEN, channels, 3)) / np.sqrt(3 * channels)
        weights |= {f"{state}_w": drawn.astype("f4"), f"{state}_from": np.array([-past])}
        whole, made, result = f"{state}_whole", STATES[kind][state], f"{state}_y"
        nodes += [
            helper.make_node("Concat", [state, given], [whole], axis=2),
            helper.make_node("Conv", [whole, f"{state}_w"], [f"{state}_sum"], dilations=[apart]),
            helper.make_node("Tanh", [f"{state}_sum"], [result]),
            helper.make_node("Slice", [whole, f"{state}_from", "end", "axis"], [made]),
        ]
        given, channels = result, HIDDEN
    nodes[-2].output[0] = "y"
    return nodes, weights, shapes
