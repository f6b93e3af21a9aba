"""Attention: the forms that one kernel takes, how far it is from f64, and the memory it saves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ops.packages import runner
from tvm_megcc import driver
from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.frontend import from_onnx
from tvm_megcc.host import package
from tvm_megcc.pipeline import compile_module

B, T, H, D = 2, 20, 3, 8
RNG = np.random.default_rng(5)

Nodes = list[onnx.NodeProto]


def node(op: str, inputs: str, output: str, **attrs: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), [output], **attrs)


def split(name: str, axes: list[int]) -> Nodes:
    return [node("Transpose", name, f"{name}_t", perm=axes)]


HEADS, KEYS = [0, 2, 1, 3], [0, 2, 3, 1]
SPLIT = [*split("q", HEADS), *split("k", KEYS), *split("v", HEADS)]
SCORES = node("MatMul", "q_t k_t", "s")
END = [node("Softmax", "x", "w", axis=-1), node("MatMul", "w v_t", "o")]
JOIN = node("Transpose", "o", "y", perm=HEADS)

#: Form -> nodes from ``q``, ``k``, ``v`` [B, T, H, D], a mask and constants to ``y``.
TAKEN: dict[str, Nodes] = {
    "scaled": [*SPLIT, SCORES, node("Mul", "s c", "x"), *END, JOIN],
    "scaled from the left": [*SPLIT, SCORES, node("Mul", "c s", "x"), *END, JOIN],
    "divided": [*SPLIT, SCORES, node("Div", "s c", "x"), *END, JOIN],
    "masked": [*SPLIT, SCORES, node("Div", "s c", "z"), node("Add", "z mask", "x"), *END, JOIN],
    "mask first": [*SPLIT, SCORES, node("Mul", "s c", "z"), node("Add", "rows z", "x"), *END, JOIN],
    "masked only": [*SPLIT, SCORES, node("Add", "s mask", "x"), *END, JOIN],
    "plain": [*SPLIT, node("MatMul", "q_t k_t", "x"), *END, JOIN],
    "heads stay apart": [
        *SPLIT, SCORES, node("Mul", "s c", "x"), END[0], node("MatMul", "w v_t", "y"),
    ],
    "keys are transposed twice": [
        *split("q", HEADS), *split("v", HEADS), node("Transpose", "k", "k_h", perm=HEADS),
        node("Transpose", "k_h", "k_t", perm=[0, 1, 3, 2]), SCORES, node("Mul", "s c", "x"),
        *END, JOIN,
    ],
}  # fmt: skip
#: What stays several kernels.
LEFT: dict[str, Nodes] = {
    "softmax of another axis": [
        *SPLIT, node("MatMul", "q_t k_t", "x"), node("Softmax", "x", "w", axis=-2), END[1], JOIN,
    ],
    "scores are an output": [*SPLIT, node("MatMul", "q_t k_t", "x"), *END, JOIN],
    "weights are read again": [
        *SPLIT, node("MatMul", "q_t k_t", "x"), *END, node("Transpose", "o", "u", perm=HEADS),
        node("ReduceMean", "w", "r", keepdims=0), node("Add", "u r", "y"),
    ],
    "a factor for each key": [*SPLIT, SCORES, node("Mul", "s cs", "x"), *END, JOIN],
    "one summand for all keys": [*SPLIT, SCORES, node("Add", "s column", "x"), *END, JOIN],
    "two factors": [
        *SPLIT, SCORES, node("Mul", "s c", "z"), node("Mul", "z d", "x"), *END, JOIN,
    ],
}  # fmt: skip


def model(nodes: Nodes, steps: int = T, extra: str = "") -> onnx.ModelProto:
    read = {name for n in nodes for name in n.input}
    inputs = {name: (B, steps, H, D) for name in "qkv"}
    inputs |= {"mask": (B, 1, 1, steps), "rows": (steps, steps), "column": (B, 1, steps, 1)}
    weights = {"c": np.float32(0.3), "d": np.float32(2.0), "cs": RNG.uniform(0, 1, steps)}
    port = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "attention",
        [port(n, TensorProto.FLOAT, s) for n, s in inputs.items() if n in read],
        [port(n, TensorProto.FLOAT, None) for n in ("y", *extra.split())],
        [numpy_helper.from_array(np.asarray(w, np.float32), n) for n, w in weights.items()
         if n in read],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def feeds(made: onnx.ModelProto) -> dict[str, np.ndarray]:
    found = {}
    for port in made.graph.input:
        shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
        found[port.name] = RNG.standard_normal(shape).astype(np.float32)
    if "mask" in found:
        found["mask"][..., ::3] = -1e9
    return found


def kernels(made: onnx.ModelProto) -> list[str]:
    """The operators of the kernels that a model becomes; a view is none."""
    program = compile_module(
        from_onnx(made).mod, "arm64", name="m", input_names=[p.name for p in made.graph.input],
        output_names=[p.name for p in made.graph.output],
    )  # fmt: skip
    return [kernel_operator(k.template) for k in program.kernels if k.template]


@pytest.mark.parametrize("name", TAKEN)
def test_one_kernel_takes(name: str) -> None:
    found = kernels(model(TAKEN[name]))
    assert found == ["attention"], found


@pytest.mark.parametrize("name", LEFT)
def test_several_kernels_stay(name: str) -> None:
    extra = "x" if name == "scores are an output" else ""
    assert "attention" not in kernels(model(LEFT[name], extra=extra))


def test_few_keys_stay_products() -> None:
    assert "attention" not in kernels(model(TAKEN["scaled"], steps=7))


def _in_f64(made: onnx.ModelProto, feed: dict[str, np.ndarray]) -> np.ndarray:
    """The model's `y` with numbers of 64 bits, of which ONNX Runtime has all these operators."""
    wide = onnx.ModelProto()
    wide.CopyFrom(made)
    for tensor in wide.graph.initializer:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for port in (*wide.graph.input, *wide.graph.output):
        port.type.tensor_type.elem_type = TensorProto.DOUBLE
    session = ort.InferenceSession(wide.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(["y"], {n: a.astype(np.float64) for n, a in feed.items()})
    return np.asarray(y)


def check(found: np.ndarray, made: onnx.ModelProto, feed: dict[str, np.ndarray]) -> None:
    """Within 4 units in the last place of a score, and of the values that are weighed."""
    products = np.einsum("bqhd,bkhd->bhqk", feed["q"], feed["k"])
    score = max(1.0, float(np.abs(products).max()) / 0.3)
    bound = 4 * 2.0**-24 * score * float(np.abs(feed["v"]).max())
    np.testing.assert_allclose(found, _in_f64(made, feed), rtol=0, atol=bound)


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKEN)
def test_near_f64(name: str, tmp_path: Path) -> None:
    made = model(TAKEN[name])
    feed = feeds(made)
    check(runner(made, tmp_path)(feed)["y"], made, feed)


def _open(made: onnx.ModelProto) -> onnx.ModelProto:
    """The same with any number of steps, also of batches."""
    for port in made.graph.input:
        dims = port.type.tensor_type.shape.dim
        names = {T: "steps", B: "batch"}
        for dim in dims:
            if dim.dim_value in names:
                dim.dim_param = names[dim.dim_value]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["masked", "heads stay apart"])
def test_open_sizes(name: str, tmp_path: Path) -> None:
    made = _open(model(TAKEN[name]))
    run = runner(made, tmp_path)
    assert "attention" in kernels(made)
    for batch, steps in ((1, 1), (1, 2), (2, 3), (1, 24), (3, 25), (1, 70)):
        feed = {n: RNG.standard_normal((batch, steps, H, D)).astype(np.float32) for n in "qkv"}
        if name == "masked":
            feed["mask"] = np.where(RNG.random((batch, 1, 1, steps)) < 0.3, -1e9, 0).astype("f4")
        check(run(feed)["y"], made, feed)


@pytest.mark.slow
def test_long_scores_are_never_whole(tmp_path: Path) -> None:
    """1,024 steps: the scores of all heads would take 12 MB a batch, 25 MB together."""
    made = model(TAKEN["scaled"], steps=1024)
    driver.compile_model(made, tmp_path / "p", archs=["arm64"])
    row = package.load(tmp_path / "p").manifest["per_arch"]["arm64"]
    assert row["arena_bytes"] < 200_000
