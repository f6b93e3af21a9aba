"""LSTM, GRU and RNN against ONNX Runtime."""

import numpy as np
import pytest

from tests.ops.cases import Weight, check_node, node_model, rand
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.frontend import from_onnx
from tvm_megcc.ops.common import recurrent
from tvm_megcc.relax_tools.control_flow import Iterations, region_of

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, SIZE, HIDDEN = 3, 2, 3, 4


@pytest.fixture(params=["unrolled", "loop"], autouse=True)
def form(request, monkeypatch):
    """Every layer in both forms."""
    if request.param == "loop":
        monkeypatch.setattr(recurrent, "UNROLLED", 0)


def operands(op, directions, *, bias=True, lengths=None, state=False, peepholes=False):
    gates = GATES[op]
    found = [
        rand(STEPS, BATCH, SIZE),
        Weight(rand(directions, gates * HIDDEN, SIZE, seed=1)),
        Weight(rand(directions, gates * HIDDEN, HIDDEN, seed=2)),
        Weight(rand(directions, 2 * gates * HIDDEN, seed=3)) if bias else None,
        lengths,
    ]
    if state or peepholes:
        found += [rand(directions, BATCH, HIDDEN, seed=4 + i) for i in range(1 + (op == "LSTM"))]
    if peepholes:
        found.append(Weight(rand(directions, 3 * HIDDEN, seed=9)))
    return found


def outputs(op):
    return ["y", "y_h", "y_c"] if op == "LSTM" else ["y", "y_h"]


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_directions(op, direction):
    given = operands(op, 1 + (direction == "bidirectional"), state=True)
    check_node(op, given, 14, outputs=outputs(op), direction=direction, hidden_size=HIDDEN)


@pytest.mark.parametrize("op", GATES)
def test_without_bias_and_state(op):
    check_node(op, operands(op, 1, bias=False), 14, outputs=outputs(op), hidden_size=HIDDEN)


@pytest.mark.slow
@pytest.mark.parametrize("op", GATES)
def test_lengths_of_the_run_time(op):
    given = operands(op, 2, lengths=np.array([2, 3], np.int32), state=True)
    check_node(op, given, 14, outputs=outputs(op), direction="bidirectional", hidden_size=HIDDEN)


def test_known_lengths():
    given = operands("GRU", 1, lengths=Weight([1, 3], "int32"))
    check_node("GRU", given, 14, outputs=outputs("GRU"), hidden_size=HIDDEN)


@pytest.mark.parametrize("bias", [False, True])
def test_gru_linear_before_reset(bias):
    given = operands("GRU", 1, bias=bias)
    attrs = dict(hidden_size=HIDDEN, linear_before_reset=1)
    check_node("GRU", given, 14, outputs=outputs("GRU"), **attrs)


def test_lstm_peepholes():
    given = operands("LSTM", 1, peepholes=True)
    check_node("LSTM", given, 14, outputs=outputs("LSTM"), hidden_size=HIDDEN)


def test_lstm_input_forget():
    given = operands("LSTM", 1)
    check_node("LSTM", given, 14, outputs=outputs("LSTM"), hidden_size=HIDDEN, input_forget=1)


@pytest.mark.parametrize("op", GATES)
def test_clip(op):
    check_node(op, operands(op, 1), 14, outputs=outputs(op), hidden_size=HIDDEN, clip=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "names", "params"),
    [
        ("LSTM", ["HardSigmoid", "Relu", "Softsign"], {}),
        ("LSTM", ["HardSigmoid", "Affine", "ScaledTanh"],
         dict(activation_alpha=[0.3, 0.7, 0.9], activation_beta=[0.4, 0.1, 0.8])),
        ("GRU", ["Sigmoid", "LeakyRelu"], dict(activation_alpha=[0.2])),
        ("GRU", ["HardSigmoid", "Tanh"], dict(activation_beta=[0.3])),
        ("RNN", ["Elu"], dict(activation_alpha=[0.5])),
        ("RNN", ["Softplus"], {}),
        ("RNN", ["ThresholdedRelu"], dict(activation_alpha=[0.5])),
    ],
)  # fmt: skip
def test_activations(op, names, params):
    attrs = dict(hidden_size=HIDDEN, activations=names, **params)
    check_node(op, operands(op, 1), 14, outputs=outputs(op), **attrs)


@pytest.mark.parametrize("wanted", [["y"], ["", "y_h"], ["", "", "y_c"]])
def test_some_outputs(wanted):
    check_node("LSTM", operands("LSTM", 1), 14, outputs=wanted, hidden_size=HIDDEN)


WRONG = {
    "hidden_size": (0, None, {"hidden_size": 3}),
    "hidden_size_below_one": (0, None, {"hidden_size": -HIDDEN}),
    "directions": (0, None, {"direction": "bidirectional"}),
    "gates": (1, 1, {}),
    "recurrent_gates": (2, 1, {}),
    "recurrent_size": (2, 2, {}),
    "bias": (3, 1, {}),
}


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("wrong", WRONG)
def test_weights_of_other_dims_are_refused(op, wrong):
    number, axis, attrs = WRONG[wrong]
    given = operands(op, 1)
    if axis is not None:
        value = given[number].value
        given[number] = Weight(np.concatenate([value, value], axis))
    model, _ = node_model(op, given, 14, **{"hidden_size": HIDDEN, **attrs})
    with pytest.raises((InputError, UnsupportedError), match=f"{op} 'node'"):
        from_onnx(model)


@pytest.mark.parametrize(("direction", "count"), [("forward", 2), ("bidirectional", 3)])
def test_too_few_activations_are_refused(direction, count):
    given = operands("LSTM", 1 + (direction == "bidirectional"))
    attrs = dict(hidden_size=HIDDEN, direction=direction, activations=["Tanh"] * count)
    model, _ = node_model("LSTM", given, 14, **attrs)
    with pytest.raises(
        (InputError, UnsupportedError), match=f"has {count} activations and 3 for each direction"
    ):
        from_onnx(model)


def test_many_steps_are_a_loop():
    data = np.zeros((3000, 1, 1), np.float32)
    weights = [Weight(np.zeros((1, 1, 1), np.float32)) for _ in range(2)]
    model, _ = node_model("RNN", [data, *weights], 14, hidden_size=1)
    mod = from_onnx(model).mod
    assert any(isinstance(region_of(func), Iterations) for _, func in mod.functions_items())
