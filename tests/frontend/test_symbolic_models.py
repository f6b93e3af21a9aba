"""The corpus with its symbolic dims kept: imported once, run by stock TVM at several sizes.

Those that ``tests/models/test_dynamic.py`` runs as packages are not here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from onnx import numpy_helper
from tvm import relax

from tests.frontend.running import by_onnxruntime, machine, run_machine
from tvm_megcc.frontend import from_onnx

pytestmark = pytest.mark.slow

#: Values of the dims, one row per run; dims that are not named are those of the stored case.
ROWS = {
    "cifar_cnn_winml": [{"batch_size": 1}, {"batch_size": 3}],
    "hand_keypoint_mlp": [{"batch": 1}, {"batch": 7}],
    "tinybert_test": [
        {"batch": 1, "sequence": 1},
        {"batch": 3, "sequence": 100},
        {"batch": 2, "sequence": 17},
    ],
    "fsmn_vad_offline": [{"feats_length": 1}, {"feats_length": 90}],
    "oww_melspec": [{"batch_size": 2, "samples": 1280}, {"batch_size": 1, "samples": 2001}],
    "silero_vad_half": [{"batch": 2}],
    "openseeface_gaze": [{"batch_size": 3}],
    "mnist_cnn_tribuo": [{"batch": 1}],
    "dnsmos_p808": [{"N": 2}],
    "silero_vad_16k_op15": [{"batch": 2}],
    "silero_vad_op18_ifless": [{"batch": 2}, {"sequence": 288}],
    "oww_speech_embedding": [{"unk__314": 3}],
    "speech_commands_squeezenet": [{"batch_size": 2}],
    "stressrnn_ru": [{"N": 1}, {"N": 3}],
    "syllable_bigru": [{"unk__160": 1}, {"unk__160": 4}],
    "credsweeper_2021": [{"unk__144": 3, "unk__145": 3}],
    "policy_go2_apg": [{"batch_size": 4}],
    "seed_classifier_mlp": [{"batch_size": 5}],
    "micro_kws_qdq": [{"unk__68": 2}],
    "mlptiny_kws_int8": [{"unk__232": 3}],
    "mlptiny_ic_resnet8_int8": [{"unk__259": 2}],
    "mlptiny_ad_int8": [{"unk__133": 2}],
    "mlptiny_vww_fp32": [{"unk__334": 2}],
}

#: Operators that compute sizes on tensors.
SHAPE_MATH = {"relax.shape_to_tensor", "relax.tensor_to_shape", "relax.dynamic_strided_slice"}


def operators(mod: tvm.IRModule) -> set[str]:
    found: set[str] = set()

    def visit(expr: relax.Expr) -> None:
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op):
            found.add(expr.op.name)

    relax.analysis.post_order_visit(mod["main"], visit)
    return found


def check_model(shared: Path, name: str, rows: list[dict[str, int]]) -> None:
    folder = shared / "models" / name
    index = json.loads((shared / "models" / "INDEX.json").read_text())
    case = next(model for model in index if model["name"] == name)["cases"][0]
    protos = [onnx.load_tensor(p) for p in sorted((folder / case["dir"]).glob("input_*.pb"))]
    stored = {proto.name: numpy_helper.to_array(proto) for proto in protos}
    imported = from_onnx(folder / "model.onnx")
    assert not operators(imported.mod) & SHAPE_MATH
    usual = {
        dim: size
        for port in imported.inputs
        for dim, size in zip(port.shape, stored[port.name].shape, strict=False)
        if isinstance(dim, str)
    }
    noise = {o["name"]: o["ort_opt_vs_noopt_max_abs_diff"] or 0.0 for o in case["outputs"]}
    compiled, model = machine(imported), onnx.load(folder / "model.onnx")
    for row in [{}, *rows]:
        dims = {**usual, **row}
        feeds = {}
        for port in imported.inputs:
            shape = [dims[d] if isinstance(d, str) else d for d in port.shape]
            feeds[port.name] = np.resize(stored[port.name], shape)
        results = run_machine(compiled, imported, feeds)
        wanted = by_onnxruntime(model, feeds)
        for port, got, want in zip(imported.outputs, results, wanted, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype), (row, port.name)
            largest = float(np.abs(want.astype(np.float64)).max(initial=0))
            difference = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
            bound = max(1e-4 * largest, 5 * noise[port.name], 1e-6)
            assert difference <= bound, (row, port.name)


@pytest.mark.parametrize("name", list(ROWS))
def test_symbolic_model(shared, name):
    check_model(shared, name, ROWS[name])
