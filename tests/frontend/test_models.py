"""The corpus through the importer and stock TVM: the importer's share of what a package computes.

The full sweep takes minutes (``-m models``); without the marker a few small models are run.
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

QUICK = [
    "mnist_cntk",
    "policy_go1_joystick",
    "silero_vad_half",
    "dtln_1",
    "micro_kws_qdq",
    "tree_ensemble",
]
SLOW = [
    "ultraface_rfb320", "yunet_n_dynamic", "blazeface_front", "face_landmark_mp",
    "openseeface_gaze", "fsanet_headpose", "face_antispoof_fp32", "face_antispoof_dynq_int8",
    "hand_keypoint_mlp", "selfie_seg_landscape", "deeplabv3_dm05", "sci_lowlight_tiny",
    "yolox_nano", "fastestdet", "lw_person_det", "hyperlpr_platecls", "ppocr_v3_det",
    "crnn_coin_captcha", "shufflenet_v2_int8", "squeezenet_fp16", "cifar_cnn_winml",
    "mnist_cnn_tribuo", "cct2_cifar", "super_resolution", "rivagan_encoder", "gtcrn_stream",
    "gtcrn_stream_simple", "dnsmos_p808", "basic_pitch", "silero_vad_16k_op15",
    "silero_vad_op18_ifless", "fsmn_vad_offline", "oww_melspec", "oww_speech_embedding",
    "speech_commands_squeezenet", "magika_v1", "sentence_bilstm_small", "stressrnn_ru",
    "libtashkeel_int8_contrib", "g2p_en_lstm", "syllable_bigru", "credsweeper_2021",
    "tinybert_test", "policy_g1_velocity", "policy_go2_apg", "heating_gru",
    "seed_classifier_mlp", "micro_kws_fp32", "mlptiny_kws_int8", "mlptiny_ic_resnet8_int8",
    "mlptiny_ad_int8", "mlptiny_vww_fp32", "silero_vad_v5", "yunet_postproc_nms",
]  # fmt: skip


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


@pytest.mark.models
@pytest.mark.parametrize("name", SLOW)
def test_slow_model(shared, name, request):
    if "models" not in request.config.getoption("-m"):
        pytest.skip("takes long; run with -m models")
    check_model(shared, name)
