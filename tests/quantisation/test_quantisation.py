"""``tvmc quantize``: accuracy on data with labels, the report, and every sentence it can say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.quantisation import classifier
from tvm_megcc import execute, quantisation
from tvm_megcc.cli import main
from tvm_megcc.errors import ToolError
from tvm_megcc.quantisation import quantiser

pytest.importorskip("onnxruntime", reason="needs the extra 'quantize'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``float.onnx`` and ``samples.npz``; only to be read."""
    path = tmp_path_factory.mktemp("quantise")
    onnx.save(classifier.model(), path / "float.onnx")
    np.savez(path / "samples.npz", image=classifier.images(100, 3)[0])
    return path


def refused(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """The one sentence that ``tvmc quantize`` ends with."""
    capsys.readouterr()
    assert main(["quantize", *map(str, args)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "internal error" not in line
    return line


@pytest.mark.slow
def test_accuracy_of_the_compiled_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On images that neither training nor calibration has seen."""
    import onnxruntime

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    images, labels = classifier.images(1000, 2)
    session = onnxruntime.InferenceSession(folder / "float.onnx")
    plain = (session.run(None, {"image": images})[0].argmax(1) == labels).mean()
    assert 0.9 < plain < 0.99, "neither too hard to learn nor too easy to lose"
    out, package = tmp_path / "int8.onnx", tmp_path / "pkg"
    quantisation.quantise(folder / "float.onnx", out, folder / "samples.npz", per_channel=True)
    assert main(["compile", str(out), "-o", str(package), "--quiet"]) == 0
    with execute.opened(package) as runnable:
        scores = runnable.run({"image": images}).outputs["scores"]
    assert (scores.argmax(1) == labels).mean() >= plain - 0.005


def test_report(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, said = tmp_path / "int8.onnx", tmp_path / "report.json"
    args = ["--calibration", str(folder / "samples.npz"), "--report", str(said)]
    assert main(["quantize", str(folder / "float.onnx"), "-o", str(out), *args]) == 0
    printed, report = capsys.readouterr().out, json.loads(said.read_text())
    images = np.load(folder / "samples.npz")["image"]
    ranges = {row["name"]: row for row in report["ranges"]}
    assert report["samples"] == 100 and ranges.keys() == {"image", "r", "f", "scores"}
    image = ranges["image"]
    assert (image["smallest"], image["largest"]) == (images.min(), images.max())
    for row in ranges.values():  # the integers reach the values, to a step
        assert abs(row["low"] - row["smallest"]) <= row["scale"]
        assert abs(row["high"] - row["largest"]) <= row["scale"]
    # The activation is the bounds of the convolution's integers: one layer with it.
    layers = {row["name"]: row for row in report["layers"]}
    assert layers.keys() == {"conv", "flatten", "dense"} and layers["conv"]["output"] == "r"
    assert all(25 < row["snr_db"] < 60 for row in layers.values())
    assert report["worst"][0] == min(layers, key=lambda name: layers[name]["snr_db"])
    assert "ranges of 4 tensors over 100 samples" in printed and "the 3 worst:" in printed


def test_signal_to_noise_is_that_of_the_outputs(folder: Path, tmp_path: Path) -> None:
    import onnxruntime

    out = tmp_path / "int8.onnx"
    report = quantisation.quantise(folder / "float.onnx", out, folder / "samples.npz")
    images = np.load(folder / "samples.npz")["image"]
    settings = onnxruntime.SessionOptions()  # else products of bytes saturate on x86 without VNNI
    settings.add_session_config_entry("session.x64quantprecision", "1")
    want, got = (
        onnxruntime.InferenceSession(path, settings).run(None, {"image": images})[0].astype("f8")
        for path in (folder / "float.onnx", out)
    )
    (layer,) = (layer for layer in report.layers if layer.name == "dense")
    decibels = 10 * np.log10(np.square(want).sum() / np.square(want - got).sum())
    # Its own optimisations flip a rounding here and there.
    assert layer.snr_db == pytest.approx(decibels, abs=0.5)


def test_keep_float(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "int8.onnx"
    plain = folder / "float.onnx"
    quantisation.quantise(plain, out, folder / "samples.npz", keep_float=["dense"])
    graph = onnx.load(out).graph
    (dense,) = (node for node in graph.node if node.name == "dense")
    weights = {tensor.name: tensor.data_type for tensor in graph.initializer}
    assert weights[dense.input[1]] == TensorProto.FLOAT and "kernel_quantized" in weights


def test_equal_inputs_give_equal_bytes(folder: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for out in outs:
        quantisation.quantise(folder / "float.onnx", out, folder / "samples.npz")
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_a_directory_is_one_file_per_sample(folder: Path, tmp_path: Path) -> None:
    images = np.load(folder / "samples.npz")["image"]
    (tmp_path / "samples").mkdir()
    for k, image in enumerate(images):
        np.savez(tmp_path / "samples" / f"{k:03}.npz", image=image[None])
    outs = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for out, samples in zip(outs, (folder / "samples.npz", tmp_path / "samples"), strict=True):
        assert quantisation.quantise(folder / "float.onnx", out, samples).samples == len(images)
    assert outs[0].read_bytes() == outs[1].read_bytes()


IMAGE = np.zeros((4, 1, classifier.SIDE, classifier.SIDE), np.float32)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"picture": IMAGE}, "no array 'image'; the inputs are 'image'"),
        ({"image": IMAGE, "label": IMAGE}, "'label' is no input; they are 'image'"),
        ({"image": IMAGE[..., 1:]}, "'image' has shape [4, 1, 12, 11], the model takes [n, 1, 12,"),
        ({"image": IMAGE.astype(np.float64)}, "has dtype float64, the model takes float32; con"),
        ({"image": IMAGE[:0]}, "has no samples; calibration needs one at least"),
        ({"image": IMAGE + np.nan}, "sample 0 of 'image' has numbers that are not finite"),
    ],
)
def test_samples_that_do_not_fit(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arrays: dict[str, np.ndarray],
    said: str,
) -> None:
    samples, out = tmp_path / "bad.npz", tmp_path / "out.onnx"
    np.savez(samples, **arrays)
    line = refused(capsys, folder / "float.onnx", "-o", out, "--calibration", samples)
    assert line.startswith(f"tvmc: '{samples}'") and said in line and not out.exists()


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (None, "has no .npz file; give it one per sample"),
        (IMAGE[0], "has shape [1, 12, 12], the model takes [n, 1, 12, 12]; a file of a directory"),
        (IMAGE.astype(np.int32), "has dtype int32, the model takes float32"),
    ],
)
def test_directories_that_do_not_fit(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    image: np.ndarray | None,
    said: str,
) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    if image is not None:
        np.savez(samples / "0.npz", image=image)
    args = (folder / "float.onnx", "-o", tmp_path / "out.onnx", "--calibration", samples)
    assert said in refused(capsys, *args)


def test_other_refusals(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples, out = folder / "samples.npz", tmp_path / "out.onnx"
    plain = folder / "float.onnx"
    line = refused(capsys, plain, "-o", out, "--calibration", samples, "--keep-float", "relu,cnov")
    assert line.startswith("tvmc: --keep-float: the model has no node 'cnov'; take a name")
    line = refused(capsys, plain, "-o", out, "--calibration", tmp_path / "none.npz")
    assert "none.npz': no such file" in line
    line = refused(capsys, plain, "-o", tmp_path / "no" / "x", "--calibration", samples)
    assert "no such directory" in line
    everything = "conv,relu,flatten,dense"
    line = refused(capsys, plain, "-o", out, "--calibration", samples, "--keep-float", everything)
    assert line.startswith("tvmc: no node of the model can be quantised")
    quantisation.quantise(plain, out, samples)
    line = refused(capsys, out, "-o", tmp_path / "twice.onnx", "--calibration", samples)
    assert "the model is quantised already: node '" in line and line.endswith("the float model")


def test_without_calibration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["quantize", str(folder / "float.onnx"), "-o", "out.onnx"])
    assert "the following arguments are required: --calibration" in capsys.readouterr().err


def test_a_node_that_is_folded_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Batch normalisation goes into the convolution; opset 11 becomes 13; nodes without names."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((4, 3, 3, 3)), **{n: rng.uniform(1, 2, 4) for n in "sbmv"}}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("BatchNormalization", ["c", *"sbmv"], ["y"]),
        ],
        "folded",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)
    plain, out, samples = (tmp_path / name for name in ("net.onnx", "out.onnx", "x.npz"))
    onnx.save(proto, plain)
    np.savez(samples, x=rng.standard_normal((5, 1, 3, 8, 8)).astype(np.float32))
    args = (plain, "-o", out, "--calibration", samples)
    line = refused(capsys, *args, "--keep-float", "y")
    assert line.startswith("tvmc: --keep-float: node 'y' is folded into another one")
    report = quantisation.quantise(plain, out, samples, per_channel=True)
    assert [layer.name for layer in report.layers] == ["c"]


def test_without_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(quantiser.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolError, match="pip install onnxruntime"):
        quantisation.quantise(folder / "float.onnx", tmp_path / "o.onnx", folder / "samples.npz")


def test_integer_ports(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same integers as within the model with ports of floats, and the sentences."""
    import onnxruntime

    given = ["--calibration", folder / "samples.npz", "--per-channel"]
    paths = {name: tmp_path / f"{name}.onnx" for name in ("floats", "int8")}
    for name, options in (("floats", []), ("int8", ["--io", "int8"])):
        command = ["quantize", folder / "float.onnx", "-o", paths[name], *given, *options]
        assert main(list(map(str, command))) == 0
    model = onnx.load(paths["int8"])
    onnx.checker.check_model(model, full_check=True)
    for port in (*model.graph.input, *model.graph.output):
        assert port.type.tensor_type.elem_type == TensorProto.INT8
    first = next(n for n in onnx.load(paths["floats"]).graph.node if n.op_type == "QuantizeLinear")
    known = {w.name: numpy_helper.to_array(w) for w in onnx.load(paths["floats"]).graph.initializer}
    scale, zero = (known[name] for name in first.input[1:])
    images, _ = classifier.images(8, 5)
    steps = np.clip(np.rint(images / scale) + zero, -128, 127).astype(np.int8)
    sessions = {name: onnxruntime.InferenceSession(path) for name, path in paths.items()}
    (integers,) = sessions["int8"].run(None, {"image": steps})
    (numbers,) = sessions["floats"].run(None, {"image": images})
    assert integers.dtype == np.int8
    np.testing.assert_array_equal(integers.argmax(1), numbers.argmax(1))
    out = tmp_path / "refused.onnx"
    said = refused(capsys, folder / "float.onnx", "-o", out, *given, "--io", "uint8")
    assert "activations are s8; say --activations u8, too" in said
    last = onnx.load(folder / "float.onnx").graph.node[-1]
    kept = ["--keep-float", last.name or last.output[0]]
    said = refused(capsys, folder / "float.onnx", "-o", out, *given, "--io", "int8", *kept)
    assert "output 'scores' is not dequantised last" in said and not out.exists()
