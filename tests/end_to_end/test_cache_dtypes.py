"""``--cache-dtype``: what caches in f32, f16 and int8 cost of the logits' precision, beside f64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import decoder_f64
from tests.scripts.test_scripts import load, needs_cc
from tvm_megcc import driver, execute

llm_models = load("llm_models")

pytestmark = [pytest.mark.slow, needs_cc]

DIMS = llm_models.Dims(4, 192, 3, 1, 384, 512, 256, 1e4)
CAPACITY, PROMPT, DECODED, SEEDS = 160, 93, 3, 20
#: Type of caches -> NumPy's name, elements of a row beyond those of a head, and bounds: the largest
#: error of a logit by their range, and the mean error of a token's log probability.
DTYPES = {
    "f32": ("f4", 0, 2e-6, 2e-6),
    "f16": ("f2", 0, 1e-3, 5e-4),
    "int8": ("i1", 4, 2e-2, 2e-2),
}


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return llm_models.built(DIMS, "f32")


@pytest.fixture(scope="module")
def wanted(model: onnx.ModelProto) -> list[tuple[np.ndarray, np.ndarray]]:
    """Tokens, and logits in f64 behind each, by seeds."""
    rows = []
    for seed in range(SEEDS):
        tokens = np.random.default_rng(seed).integers(0, DIMS.vocabulary, PROMPT + DECODED)
        rows.append((tokens, decoder_f64.logits(model, tokens)))
    return rows


def decoded(runnable: execute.Runnable, tokens: np.ndarray, dtype: str, more: int) -> np.ndarray:
    """Logits behind each token, of which the last ones are decoded."""
    shape = (1, DIMS.kept_heads, CAPACITY, DIMS.head + more)
    caches = {
        f"past_key_values.{layer}.{role}": np.zeros(shape, dtype)
        for layer in range(DIMS.layers)
        for role in ("key", "value")
    }
    found = []
    for first, end in [(0, PROMPT), *((k, k + 1) for k in range(PROMPT, len(tokens)))]:
        given = {"input_ids": tokens[None, first:end], "attention_mask": np.ones((1, end), int)}
        outputs = runnable.run(given | caches).outputs
        found.append(outputs["logits"][0])
        caches = {name: outputs[name.replace("past_key_values", "present")] for name in caches}
    return np.concatenate(found)


def log_p(logits: np.ndarray) -> np.ndarray:
    logits = logits.astype(np.float64)
    most = logits.max(-1, keepdims=True)
    return logits - most - np.log(np.exp(logits - most).sum(-1, keepdims=True))


@pytest.mark.parametrize("name", DTYPES)
def test_logits_beside_f64(name: str, model, wanted, tmp_path: Path) -> None:
    dtype, more, largest, mean = DTYPES[name]
    driver.compile_model(model, tmp_path / "p", archs=["host"], cache_dtype=name)
    worst, likelihood = [], []
    with execute.opened(tmp_path / "p") as runnable:
        for tokens, exact in wanted:
            found = decoded(runnable, tokens, dtype, more)
            assert np.ptp(exact) > 2
            worst.append(np.abs(found - exact).max() / np.ptp(exact))
            following = tokens[1:, None]
            found, exact = (
                np.take_along_axis(log_p(a[:-1]), following, -1) for a in (found, exact)
            )
            likelihood.append(np.abs(found - exact).mean())
    print(f"{name}: largest error {max(worst):.1e}, of log p {np.mean(likelihood):.1e}")
    assert max(worst) < largest and np.mean(likelihood) < mean
    if name != "f32":  # it is a cache of this type
        assert max(worst) > largest / 100
