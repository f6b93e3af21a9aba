"""Decoders in the operators of onnxruntime-genai: prefill and decoding, beside ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.scripts.test_scripts import load, needs_cc
from tvm_megcc import driver, execute

llm_models = load("llm_models")

pytestmark = [pytest.mark.slow, needs_cc]

CAPACITY = 176
#: Tokens of a prompt -> tokens that are decoded behind it.
DECODED = {1: 4, 16: 4, 128: 32}
#: Every architecture, and every form of weights.
ROWS = {
    "llama": "f16",
    "qwen2": "int8",
    "qwen3": "int4",
    "gemma2": "f32",
    "gemma3": "int4",
    "phi": "int4",
}


def test_every_architecture_and_form_is_there() -> None:
    assert set(ROWS) == set(llm_models.ARCHITECTURES)
    assert set(ROWS.values()) == set(llm_models.FORMS)


@pytest.mark.parametrize("architecture", ROWS)
def test_prefill_and_decoding(architecture: str, tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    form, dims = ROWS[architecture], llm_models.TINY
    if architecture == "phi":  # ONNX Runtime turns a multiple of 16 elements
        dims = replace(dims, heads=2, kept_heads=1)
    model = llm_models.built(dims, form, architecture)
    driver.compile_model(model, tmp_path / "p", archs=["host"], states=llm_models.STATES)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rng = np.random.default_rng(1)
    with execute.opened(tmp_path / "p") as runnable:
        for prompt, decoded in DECODED.items():
            atol = 2e-2 if form == "f16" else 1e-5
            if form == "int4" and prompt > 16:
                atol = 3e-2  # of so many activations some lie where their rounding may differ
            given = llm_models.step(dims, form, 0, prompt, CAPACITY)
            theirs = dict(given)
            for filled in range(prompt, prompt + decoded + 1):
                found = runnable.run(given).outputs
                wanted = dict(zip(names, session.run(None, theirs), strict=True))
                assert np.ptp(wanted["logits"]) > 2
                for name in names:
                    rows = (slice(None),) * 2 + (slice(filled),) * (name != "logits")
                    np.testing.assert_allclose(
                        found[name][rows], wanted[name][rows], rtol=0, atol=atol, err_msg=name
                    )
                token = rng.integers(0, dims.vocabulary, (1, 1))
                mask = np.ones((1, filled + 1), np.int64)
                for inputs, outputs in ((given, found), (theirs, wanted)):
                    inputs |= {"input_ids": token, "attention_mask": mask}
                    for name in names[1:]:
                        inputs[name.replace("present", "past_key_values")] = outputs[name]
