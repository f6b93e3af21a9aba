"""``tvmc compare`` and ``tvmc run --dump``: what each call computes, beside ONNX's own values."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli import tiny
from tvm_megcc import compare, zoo
from tvm_megcc.host import dump, package

TOLERANCE = compare.Tolerance(1e-4, 1e-6)


@pytest.fixture(scope="module")
def residual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A network of the zoo, and one whose second convolution has other weights."""
    folder = tmp_path_factory.mktemp("compare")
    model = zoo.build("tiny_residual")
    onnx.save(model, folder / "right.onnx")
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    (weight,) = (w for w in model.graph.initializer if w.name == convolutions[1].input[1])
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 1.5, weight.name))
    onnx.save(model, folder / "wrong.onnx")
    return folder / "right.onnx", folder / "wrong.onnx"


@pytest.fixture(scope="module")
def compiled(residual: tuple[Path, Path]) -> Path:
    from tvm_megcc.cli import main

    out = residual[0].with_name("package")
    assert main(["compile", str(residual[0]), "-o", str(out)]) == 0
    return out


@pytest.mark.slow
def test_compare_outputs(tvmc, residual, compiled) -> None:
    right, wrong = residual
    ran = tvmc("compare", right, compiled)
    assert ran.status == 0 and "output 'output': largest difference" in ran.out
    ran = tvmc("compare", wrong, compiled)
    assert ran.status == 1
    assert "beyond the tolerance: 'output'; --per-layer names the first call" in ran.sentence()
    assert tvmc("compare", wrong, compiled, "--rtol", "1e3").status == 0
    assert tvmc("compare", right, compiled, "--rtol", "0", "--atol", "0").status == 1


def test_compare_takes_the_model_first(tvmc, residual, compiled) -> None:
    said = tvmc("compare", compiled, residual[0]).sentence()
    assert f"the other way round: tvmc compare {residual[0]} {compiled}" in said
    assert "tvmc compare MODEL.onnx OUT" in tvmc("compare", compiled, compiled).sentence()


@pytest.mark.slow
def test_compare_says_how_far_onnx_runtimes_own_answers_are_apart(tvmc, tmp_path: Path) -> None:
    from tvm_megcc import quantisation

    onnx.save(zoo.build("tiny_residual"), tmp_path / "float.onnx")
    (port,) = zoo.build("tiny_residual").graph.input
    shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
    sample = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    np.savez(tmp_path / "sample.npz", **{port.name: sample})
    quantisation.quantise(tmp_path / "float.onnx", tmp_path / "int8.onnx", tmp_path / "sample.npz")
    assert tvmc("compile", tmp_path / "int8.onnx", "-o", tmp_path / "pkg").status == 0
    ran = tvmc("compare", tmp_path / "int8.onnx", tmp_path / "pkg", "--rtol", "1")
    assert ran.status == 0
    assert "optimisations off" in ran.out
    assert "ONNX Runtime with its optimisations, output 'output': largest difference" in ran.out


@pytest.mark.slow
def test_compare_per_layer_names_the_first_call_that_differs(tvmc, residual, compiled) -> None:
    right, wrong = residual
    ran = tvmc("compare", right, compiled, "--per-layer")
    assert ran.status == 0 and "BEYOND" not in ran.out
    ran = tvmc("compare", wrong, compiled, "--per-layer")
    assert ran.status == 1
    rows = [line.split() for line in ran.out.splitlines() if line[:1].isdigit()]
    beyond = [row for row in rows if "BEYOND" in row]
    assert 0 < len(beyond) < len(rows)  # the first convolution is as it should be
    _, _, _, _, value, kernel = beyond[0]
    assert f"'{value}' ({kernel})" in ran.sentence()
    # The call computes the second convolution with what was fused to it.
    model = onnx.load(right)
    second = [node for node in model.graph.node if node.op_type == "Conv"][1]
    fused = {second.output[0]}
    for node in model.graph.node:
        if node.input[0] in fused and node.op_type in ("BatchNormalization", "Relu"):
            fused.add(node.output[0])
    assert value in fused and "conv2d" in kernel


@pytest.mark.slow
def test_compare_without_onnx_runtime(tvmc, residual, compiled, monkeypatch) -> None:
    """The two agree on BatchNormalization, whose early opsets trap onnx.reference."""
    assert any(n.op_type == "BatchNormalization" for n in onnx.load(residual[0]).graph.node)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    ran = tvmc("compare", residual[0], compiled, "--per-layer")
    assert ran.status == 0 and "reference: onnx.reference" in ran.out


def test_compare_mistakes_are_one_sentence(tvmc, residual, compiled, library, tmp_path) -> None:
    right, _ = residual
    assert "no such file" in tvmc("compare", tmp_path / "none.onnx", compiled).sentence()
    assert "a package" in tvmc("compare", right, library, "--per-layer").sentence()
    with pytest.raises(SystemExit):
        tvmc("compare", right, compiled, "--rtol", "-1")


@pytest.mark.slow
def test_run_dump(tvmc, model, package, inputs, tmp_path) -> None:
    """Names are the model's, be they C identifiers or not; what is fused away is not there."""
    folder = tmp_path / "dump"
    ran = tvmc("run", package, "--inputs", inputs, "--dump", folder)
    assert (ran.status, ran.err) == (0, "")
    with np.load(folder / "tensors.npz") as tensors, np.load(folder / "outputs.npz") as outputs:
        assert set(tensors) == {"y/0", "sum"}
        for name in tensors:
            assert np.array_equal(tensors[name], outputs[name])
    with np.load(folder / "inputs.npz") as kept, np.load(inputs) as given:
        assert np.array_equal(kept["x:0"], given["x:0"])
    assert "float32[2, 4] y/0  megcc_matmul" in (folder / "calls.txt").read_text()
    assert tvmc("run", package, "--dump", folder).status == 0  # ours: replaced
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    assert "choose another output" in tvmc("run", package, "--dump", tmp_path / "other").sentence()


@pytest.mark.slow
def test_run_dump_of_a_library_and_of_open_dims(tvmc, library, dynamic, tmp_path) -> None:
    assert "-f c" in tvmc("run", library, "--dump", tmp_path / "d").sentence()
    out = tmp_path / "package"
    assert tvmc("compile", dynamic, "-o", out, "--quiet").status == 0
    ran = tvmc("run", out, "--shapes", "x:[5,3]", "--dump", tmp_path / "d")
    assert (ran.status, ran.err) == (0, "")
    with np.load(tmp_path / "d" / "tensors.npz") as tensors:
        assert tensors["y"].shape == (5, 3)


def test_dump_of_a_loop_has_every_iteration() -> None:
    records = [dump.Record(0, "x", "k", np.zeros(1)), dump.Record(1, "", "k", np.ones(1))] * 2
    assert list(dump.by_name(records)) == ["x", "call 1", "x#2", "call 1#2"]


@pytest.mark.parametrize(
    ("shape", "order"), [((2, 3, 4), (0, 2, 1)), ((1, 3, 1, 5), (3, 0, 1, 2)), ((4, 4), (1, 0))]
)
def test_difference_in_another_order_of_dims(shape, order) -> None:
    want = np.random.default_rng(0).random(shape, np.float32)
    got = want.transpose(order)
    assert compare.difference("x", got, want, TOLERANCE, ordered=False).ok
    assert not compare.difference("x", got + 1, want, TOLERANCE, ordered=False).ok


def test_difference_says_what_cannot_be_measured() -> None:
    a, b = np.float32([1, np.nan, np.inf]), np.float32([1, np.nan, np.inf])
    assert compare.difference("x", a, b, TOLERANCE).ok
    for other in ([1, 2, np.inf], [1, np.nan, -np.inf], [np.nan, np.nan, np.inf]):
        assert "NaN" in compare.difference("x", np.float32(other), b, TOLERANCE).problem
    found = compare.difference("x", a, b.reshape(1, 3), TOLERANCE)
    assert found.problem == "has shape [3], not [1, 3]"
    assert compare.difference("x", a, b[:2], TOLERANCE, ordered=False).problem
    assert compare.difference("x", np.zeros((0, 2)), np.zeros((0, 2)), TOLERANCE).ok


def test_compare_packages_hold_nothing_of_it(compiled) -> None:
    text = b"".join(path.read_bytes() for path in compiled.rglob("*") if path.is_file())
    assert b"megcc_dump" not in text
    assert package.is_package(compiled)


@pytest.mark.slow
def test_an_output_that_is_named_twice(tvmc, tmp_path: Path) -> None:
    """A port for each place in the list; a file of arrays by name has the value once."""
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    ports = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xyz"}
    graph = helper.make_graph(nodes, "twice", [ports["x"]], [ports[n] for n in "yzy"])
    onnx.save(tiny.finish(graph), tmp_path / "twice.onnx")
    out, x = tmp_path / "package", np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    assert tvmc("compile", tmp_path / "twice.onnx", "-o", out).status == 0
    ran = tvmc("run", out, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    assert ran.status == 0
    with np.load(tmp_path / "out.npz") as npz:
        assert npz.files == ["y", "z"]
        np.testing.assert_array_equal(npz["y"], np.maximum(x, 0))
        np.testing.assert_array_equal(npz["z"], -x)
    ran = tvmc("inspect", out)
    rows = [line.split()[1] for line in ran.out.splitlines() if line.startswith("  output")]
    assert rows == ["y:", "z:", "y:"]
    ran = tvmc("compare", tmp_path / "twice.onnx", out, "--per-layer")
    assert ran.status == 0 and ran.out.count("output 'y': largest difference 0,") == 1
