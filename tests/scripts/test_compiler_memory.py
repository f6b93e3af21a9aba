"""What `tvmc compile` takes of memory and time follows from the model's weights."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .test_scripts import load

pytestmark = pytest.mark.slow

script = load("compiler_memory")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.parametrize("data", ["external", "embedded"])
def test_peak_memory_is_bounded_by_the_weights(tmp_path: Path, data: str) -> None:
    """85 MB of weights: five times as much, as it was once, would not pass."""
    write = {"external": script.write_external, "embedded": script.write_embedded}[data]
    path = tmp_path / "encoder.onnx"
    weights = write(script.Encoder(3, 768), path)
    assert weights > 80e6
    peak, seconds = script.measured(path, tmp_path / "pkg", ["--arch", "arm64"])
    row = script.Row("encoder", weights, peak, seconds)
    assert weights < peak <= row.allowed[0], row
    assert seconds <= row.allowed[1], row


def test_made_models_are_what_onnx_reads(tmp_path: Path) -> None:
    import numpy as np
    import onnx

    encoder = script.Encoder(1, 48)
    script.write_external(encoder, tmp_path / "a.onnx")
    script.write_embedded(encoder, tmp_path / "b.onnx")
    models = [onnx.load(tmp_path / name) for name in ("a.onnx", "b.onnx")]
    for model in models:
        onnx.checker.check_model(model, full_check=True)
    rows = [model.graph.initializer for model in models]
    for a, b, (name, array) in zip(*rows, encoder.weights(), strict=True):
        assert a.name == b.name == name
        for tensor in (a, b):
            np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), array)
