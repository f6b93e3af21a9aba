"""The zoo: right arithmetic, right names, same bytes every time."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from tvm_megcc import zoo
from tvm_megcc.errors import InputError

TINY = [name for name in zoo.NAMES if name.startswith("tiny_")]


def macs(model: onnx.ModelProto) -> int:
    """Multiply-adds of the convolutions and matrix products."""
    inferred = shape_inference.infer_shapes(model, strict_mode=True)
    shape = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in [*inferred.graph.value_info, *inferred.graph.output]
    }
    weight = {w.name: list(w.dims) for w in model.graph.initializer}
    total = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            total += math.prod(shape[node.output[0]]) * math.prod(weight[node.input[1]][1:])
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "million_macs", "million_weights"),
    [
        # The figures of the architectures' papers (ResNets without batch normalisation's weights).
        ("mobilenet_v1", 569, 4.2),
        ("mobilenet_v2", 301, 3.5),
        ("resnet18", 1814, 11.7),
        ("resnet50", 4089, 25.5),
    ],
)
def test_zoo_size_is_the_architectures(name, million_macs, million_weights):
    model = zoo.build(name)
    weights = sum(math.prod(w.dims) for w in model.graph.initializer)
    assert macs(model) / 1e6 == pytest.approx(million_macs, rel=0.005)
    assert weights / 1e6 == pytest.approx(million_weights, rel=0.02)


@pytest.mark.parametrize("name", TINY)
def test_zoo_same_seed_same_bytes(name):
    assert zoo.build(name).SerializeToString() == zoo.build(name).SerializeToString()
    assert zoo.build(name).SerializeToString() != zoo.build(name, seed=1).SerializeToString()


@pytest.mark.parametrize("name", TINY)
def test_zoo_runs_and_depends_on_its_input(name):
    model = zoo.build(name)
    dims = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(0)
    run = ReferenceEvaluator(model).run
    a, b = (run(["output"], {"input": rng.random(dims, np.float32)})[0] for _ in range(2))
    assert np.isfinite(a).all() and np.abs(a - b).max() > 0


def test_zoo_ports_and_opset():
    model = zoo.build("tiny_cnn", batch="N", size="H")
    (port,) = model.graph.input
    assert port.name == "input" and model.graph.output[0].name == "output"
    dims = [d.dim_param or d.dim_value for d in port.type.tensor_type.shape.dim]
    assert dims == ["N", 3, "H", "W"]
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]


def test_zoo_weights_are_float32():
    for weight in zoo.build("tiny_residual").graph.initializer:
        assert numpy_helper.to_array(weight).dtype == np.float32


def test_zoo_unknown_name_lists_the_known():
    with pytest.raises(InputError, match="alexnet.*mobilenet_v2"):
        zoo.build("alexnet")


def test_zoo_fixed_size_is_refused():
    with pytest.raises(InputError, match="size 8 only"):
        zoo.build("tiny_mlp", size="H")


def test_zoo_command_line_writes_files(tmp_path, capsys):
    assert zoo.main([str(tmp_path / "z"), "tiny_cnn", "tiny_mlp", "--batch", "2"]) == 0
    written = capsys.readouterr().out.split()
    assert [p.rsplit("/", 1)[1] for p in written] == ["tiny_cnn.onnx", "tiny_mlp.onnx"]
    model = onnx.load(written[0])
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2


def test_zoo_command_line_error_is_one_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        zoo.main([str(tmp_path / "z"), "tiny_mlp", "--size", "9"])
    assert stop.value.code == 1 and "size 8 only" in capsys.readouterr().err
    assert not (tmp_path / "z").exists()


@pytest.mark.parametrize("layers", [1, 3])
def test_decoder_goes_on_with_its_cache(layers: int) -> None:
    """Three tokens at once, and one behind two that are remembered: equal logits."""
    model = zoo.decoder(vocabulary=40, layers=layers, hidden=16, heads=2, seed=4)
    assert model == zoo.decoder(vocabulary=40, layers=layers, hidden=16, heads=2, seed=4)
    run = ReferenceEvaluator(model)
    names = [o.name for o in model.graph.output]
    caches = [n.replace("present.", "past_key_values.") for n in names[1:]]
    tokens = np.array([[5, 39, 2]])

    def step(first: int, past: list[np.ndarray]) -> list[np.ndarray]:
        now = tokens[:, first : first + 3 - len(past[0][0, 0])]
        here = np.arange(first, first + now.shape[1])[None]
        mask = np.ones((1, first + now.shape[1]), np.int64)
        given = {"input_ids": now, "position_ids": here, "attention_mask": mask}
        return run.run(names, {**given, **dict(zip(caches, past, strict=True))})

    empty = [np.zeros((1, 2, 0, 8), np.float32)] * len(caches)
    whole = step(0, empty)
    part = step(2, [cache[:, :, :2] for cache in whole[1:]])
    np.testing.assert_allclose(part[0][0, -1], whole[0][0, -1], atol=1e-5)
    for wanted, found in zip(whole[1:], part[1:], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
