"""Stateful audio models over consecutive real frames: the state an output gives is the next input.

The frames and the expected outputs are in ``stream_real.npz``: an input's name -> its value per
step, ``out__NAME`` -> the expected output per step. The other float inputs are states; they start
at zero and take the model's further outputs, in order. ``sr`` is the sample rate.
"""

from __future__ import annotations

import corpus
import numpy as np
import pytest
from test_models import expected_models

from tvm_megcc import driver

pytestmark = pytest.mark.slow

#: Rounding errors of one step go through the state into all later ones.
RELATIVE = 1e-3
CONSTANTS = {"sr": np.int64(16000)}
STREAMS = (
    "dtln_1",
    "gtcrn_stream",
    "gtcrn_stream_simple",
    "silero_vad_16k_op15",
    "silero_vad_half",
    "silero_vad_op18_ifless",
    "silero_vad_v5",
)


@pytest.mark.parametrize("name", STREAMS)
def test_stream(shared, tmp_path, name):
    if name not in expected_models():
        pytest.skip("not one of the models that pass (expected.txt)")
    model = corpus.load(shared / "models")[name]
    shapes, cases = model.shape_sets()[0]
    driver.compile_model(model.path, tmp_path / "p.so", input_shapes=shapes)
    run = load(tmp_path / "p.so", list(cases[0].expected()))
    frames = dict(np.load(model.path.parent / "stream_real.npz"))
    expected = {k.removeprefix("out__"): frames.pop(k) for k in list(frames) if "out__" in k}

    first = cases[0].inputs()
    fixed = {k: np.asarray(v, first[k].dtype) for k, v in CONSTANTS.items() if k in first}
    state_names = [k for k in model_inputs(model) if k not in frames and k not in fixed]
    state = {k: np.zeros_like(first[k]) for k in state_names}
    steps = len(next(iter(frames.values())))
    assert steps >= 60
    worst = dict.fromkeys(expected, 0.0)
    for t in range(steps):
        outputs = run({**{k: v[t] for k, v in frames.items()}, **state, **fixed})
        for key, want in expected.items():
            worst[key] = max(worst[key], float(np.abs(outputs[key] - want[t]).max()))
        state = dict(zip(state_names, list(outputs.values())[1:], strict=True))
    for key, want in expected.items():
        assert worst[key] <= RELATIVE * np.abs(want).max(), (key, worst[key])


def model_inputs(model: corpus.Model) -> list[str]:
    """Names in the model's order (the stored case may lack some)."""
    import onnx

    graph = onnx.load(model.path).graph
    weights = {w.name for w in graph.initializer}
    return [i.name for i in graph.input if i.name not in weights]


def load(library, names):
    """The library as a function; states are copied, as the next run overwrites its outputs."""
    import tvm

    from tvm_megcc import relay

    module = relay.GraphModule(tvm.runtime.load_module(str(library))["default"](tvm.cpu()))

    def run(inputs):
        for key, value in inputs.items():
            module.set_input(key, value)
        module.run()
        return {key: module.get_output(i).numpy().copy() for i, key in enumerate(names)}

    return run
