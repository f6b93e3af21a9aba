"""The corpus through the importer and stock TVM: the importer's share of what a package computes.

A few small models; ``tests/models`` runs every one of them, by every route.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.frontend.running import run
from tvm_megcc.frontend import from_onnx

pytestmark = pytest.mark.slow

QUICK = [
    "mnist_cntk",
    "policy_go1_joystick",
    "silero_vad_half",
    "dtln_1",
    "micro_kws_qdq",
    "tree_ensemble",
]


def tensors(folder: Path, stem: str) -> dict[str, np.ndarray]:
    protos = [onnx.load_tensor(path) for path in sorted(folder.glob(f"{stem}_*.pb"))]
    return {proto.name: numpy_helper.to_array(proto) for proto in protos}


def check_model(shared: Path, name: str) -> None:
    folder = shared / "models" / name
    index = json.loads((shared / "models" / "INDEX.json").read_text())
    case = next(model for model in index if model["name"] == name)["cases"][0]
    imported = from_onnx(folder / "model.onnx", case["input_shapes"])
    given = tensors(folder / case["dir"], "input")
    wanted = tensors(folder / case["dir"], "output")
    feeds = {port.name: given[port.name].reshape(port.shape) for port in imported.inputs}
    noise = {o["name"]: o["ort_opt_vs_noopt_max_abs_diff"] or 0.0 for o in case["outputs"]}
    assert [port.name for port in imported.outputs] == list(noise)
    for port, got in zip(imported.outputs, run(imported, feeds), strict=True):
        want = wanted[port.name]
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        largest = float(np.abs(want.astype(np.float64)).max(initial=0))
        difference = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
        assert difference <= max(1e-4 * largest, 5 * noise[port.name]), port.name


@pytest.mark.parametrize("name", QUICK)
def test_model(shared, name):
    check_model(shared, name)
