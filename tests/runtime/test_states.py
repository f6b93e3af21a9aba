"""State pairs: inputs and outputs that share memory, from the option to the bytes of a run."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from tvm_megcc import driver, execute
from tvm_megcc.core.program import Copy
from tvm_megcc.core.state_pairs import matched
from tvm_megcc.errors import InputError

from . import paired, sequences
from .test_runtime import compile_and_run

STATES = [f"{a}={b}" for a, b in paired.PAIRS.items()]
#: Frames of a sequence.
STEPS = 1000


@pytest.mark.parametrize("dims", [4, "n"])
def test_a_thousand_runs_in_place(tmp_path, dims):
    package = paired.write(tmp_path / "paired", dims=dims)
    flags = ["-DDYNAMIC"] if dims == "n" else []
    compile_and_run("test_states.c", [package], tmp_path, flags=["-O1", *flags])


@pytest.mark.parametrize("kind", sequences.STATES)
def test_a_thousand_steps_are_the_whole_sequence(tmp_path, kind):
    """Frame by frame with states, and all frames at once by ONNX Runtime."""
    states = sequences.STATES[kind]
    driver.compile_model(
        sequences.model(kind, 1), tmp_path / "sequence", name="sequence", archs=["host"],
        states=[f"{a}={b}" for a, b in states.items()],
    )  # fmt: skip
    frames = np.random.default_rng(0).standard_normal((STEPS, sequences.SIZE)).astype("f4")
    frames.tofile(tmp_path / "frames")
    files = (str(tmp_path / name) for name in ("frames", "results"))
    compile_and_run("test_sequence.c", [tmp_path / "sequence"], tmp_path, *files)
    found = np.fromfile(tmp_path / "results", "f4").reshape(STEPS, sequences.HIDDEN)
    whole = sequences.model(kind, STEPS)
    dims = {p.name: [d.dim_value for d in p.type.tensor_type.shape.dim] for p in whole.graph.input}
    feed = {name: np.zeros(shape, "f4") for name, shape in dims.items()}
    feed["x"] = (frames if kind != "Conv" else frames.T).reshape(dims["x"])
    wanted = ort.InferenceSession(whole.SerializeToString()).run(["y"], feed)[0]
    wanted = np.squeeze(wanted) if kind != "Conv" else wanted[0].T
    np.testing.assert_allclose(found, wanted, atol=2e-6)
    assert np.abs(wanted[-1]).max() > 0.1


def test_what_is_written_in_place():
    program = paired.compiled(paired.HOST)
    spaces = {p.name: program.tensors[p.tensor].location.space for p in program.outputs}
    # z reads h after h1 is there; s1 is overwritten by what s0 was.
    assert spaces["h1"] == spaces["s1_next"] == spaces["s0_next"] == "arena"
    assert all(program.tensors[p.tensor].location.space == "input" for p in program.inputs)
    assert sum(isinstance(step, Copy) for step in program.calls) == 2
    arena = paired.compiled(paired.HOST, io="arena")
    assert [program.tensors[p.tensor].location.space for p in program.inputs[1:]] == ["input"] * 4
    assert arena.tensors[arena.inputs[0].tensor].location.space == "arena"


def test_a_state_that_only_its_call_reads_is_written_in_place():
    graph = onnx.parser.parse_graph(
        "g (float[4] x, float[4] h) => (float[4] h1) { a = Add(h, x) h1 = Tanh(a) }"
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (program,) = driver.compile_programs(model, ["portable"], states=["h=h1"]).values()
    assert program.tensors[program.outputs[0].tensor].location.space == "output"
    assert not program.arena_bytes


def test_runs_of_the_host_begin_with_the_same_state(tmp_path):
    """`tvmc run` and a TVM library have a state, too; the first gives each run the inputs."""
    driver.compile_model(paired.model(), tmp_path / "package", archs=["host"], states=STATES)
    rng = np.random.default_rng(0)
    inputs = {n: rng.standard_normal(4).astype("f4") for n in paired.INPUTS}
    h1 = np.tanh(inputs["h"] / 2 + inputs["x"])
    want = {
        "y": h1 * inputs["h"] + inputs["s1"] + inputs["c"], "h1": h1, "s0_next": inputs["x"],
        "s1_next": inputs["s0"], "c_next": inputs["c"], "old": inputs["h"],
    }  # fmt: skip
    with execute.opened(tmp_path / "package") as runnable:
        for repeat in (1, 3):
            found = runnable.run(inputs, repeat=repeat).outputs
            for name, value in want.items():
                np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.slow
def test_a_library_keeps_its_state(tmp_path):
    import tvm

    driver.compile_model(paired.model(), tmp_path / "model.so", archs=["host"], states=STATES)
    from tvm_megcc.relay import GraphModule

    module = GraphModule(tvm.runtime.load_module(str(tmp_path / "model.so"))["default"](tvm.cpu()))
    h = np.zeros(4, "f4")
    module.set_input("x", np.full(4, 0.25, "f4"))
    for _ in range(3):
        module.run()
        h = np.tanh(h / 2 + 0.25).astype("f4")
        np.testing.assert_allclose(module.get_output(1).numpy(), h, rtol=1e-5)


# ---- what is refused ---------------------------------------------------------------------------


def test_patterns():
    ports = ["past.0.k", "past.1.k", "a=b"], ["now.0.k", "now.1.k", "c"]
    assert matched(["past.*=now.*"], *ports) == {"now.0.k": "past.0.k", "now.1.k": "past.1.k"}
    assert matched(["a=b=c", "past.1.k=now.1.k"], *ports) == {"c": "a=b", "now.1.k": "past.1.k"}
    for patterns, words in (
        (["past.*"], "fits no input"),
        (["past.*=c"], "fits no input"),
        (["*=c*"], "is no output"),
        (["past.0.k=now"], "'now' is no output; they are 'now.0.k'"),
        (["past.0.k=now.0.k", "past.0.k=now.1.k"], "another pair"),
        (["past.0.k=now.0.k", "past.1.k=now.0.k"], "another pair"),
    ):
        with pytest.raises(InputError, match=words):
            matched(patterns, *ports)


def _refused(text: str, state: str, words: str) -> None:
    graph = onnx.parser.parse_graph(text)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(InputError, match=words):
        driver.compile_programs(model, ["portable"], states=[state])


def test_ports_that_differ():
    text = "g (float[4] h, float[3, 4] x) => (float[3, 4] y) { y = Add(x, h) }"
    _refused(text, "h=y", r"the input is \[4\], the output \[3, 4\]; they need equal dims")
    text = "g (float[4] h) => (int32[4] y) { y = Cast<to=6>(h) }"
    _refused(text, "h=y", r"the input is f32\[4\], the output i32\[4\]")


def test_open_dims_that_must_agree(tmp_path):
    """A run whose output would be larger than the input is refused."""
    nodes = [helper.make_node("Concat", ["h", "x"], ["longer"], axis=0)]
    nodes += [helper.make_node("Relu", ["longer"], ["y"])]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [d]) for n, d in ("hn", "xm")]
    graph = helper.make_graph(
        nodes, "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    driver.compile_model(model, tmp_path / "package", archs=["host"], states=["h=y"])
    with execute.opened(tmp_path / "package") as runnable:
        h = np.arange(3, dtype="f4")
        found = runnable.run({"h": h, "x": np.zeros(0, "f4")}).outputs["y"]
        np.testing.assert_array_equal(found, h)
        with pytest.raises(Exception, match="not equal, as they must be: 4 and 3"):
            runnable.run({"h": h, "x": np.zeros(1, "f4")})
