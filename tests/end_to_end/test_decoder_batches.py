"""Decoders with several sequences in a run: prompts, single tokens and chunks, of both forms.

Sequences of onnxruntime-genai's form have lengths of their own and are compared with f64, as ONNX
Runtime takes no chunks there; those of optimum's form are padded left, beside ONNX Runtime.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import decoder_f64
from tests.scripts.test_scripts import load, needs_cc
from tvm_megcc import driver, execute
from tvm_megcc.errors import ToolError

llm_models, optimum_models = load("llm_models"), load("optimum_models")

pytestmark = [pytest.mark.slow, needs_cc]

TINY, CAPACITY, ATOL = llm_models.TINY, 24, 1e-5
#: New rows of each run: a prompt, tokens, a chunk, a token.
RUNS = (6, 1, 1, 4, 1)


def past_of(name: str) -> str:
    return name.replace("present", "past_key_values")


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> tuple[onnx.ModelProto, Path]:
    """A decoder in onnxruntime-genai's form, and its package for all batches."""
    model, out = llm_models.built(TINY, "f32"), tmp_path_factory.mktemp("grouped") / "p"
    driver.compile_model(model, out, archs=["host"], states=llm_models.STATES)
    return model, out


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
def test_sequences_of_their_own_lengths(grouped, batch):
    model, package = grouped
    rng = np.random.default_rng(batch)
    shape = (batch, TINY.kept_heads, CAPACITY, TINY.head)
    caches = [port.name for port in model.graph.input if port.name.startswith("past_key")]
    ours = {name: np.zeros(shape, "f4") for name in caches}
    tokens: list[list[int]] = [[] for _ in range(batch)]
    logits: list[list[np.ndarray]] = [[] for _ in range(batch)]
    with execute.opened(package) as runnable:
        for number, rows in enumerate(RUNS):
            # Of the prompts all but the first are shorter, and padded behind.
            new = [max(rows - b, 1) if number == 0 else rows for b in range(batch)]
            given = rng.integers(0, TINY.vocabulary, (batch, rows))
            for b, count in enumerate(new):
                tokens[b] += given[b, :count].tolist()
            lengths = np.array([len(row) for row in tokens])
            mask = np.arange(max(lengths.max(), rows)) < lengths[:, None]
            step = {"input_ids": given, "attention_mask": mask.astype(np.int64)}
            found = runnable.run({**step, **ours}).outputs
            for b, count in enumerate(new):
                logits[b] += list(found["logits"][b, :count])
            ours = {name: found[name.replace("past_key_values", "present")] for name in caches}
    for row, made in zip(tokens, logits, strict=True):
        wanted = decoder_f64.logits(model, np.array(row))
        assert np.ptp(wanted) > 2
        np.testing.assert_allclose(made, wanted, rtol=0, atol=ATOL)


def test_beside_onnxruntime_where_it_takes_a_batch(grouped):
    """Prompts of one length, then single tokens."""
    ort = pytest.importorskip("onnxruntime")
    model, package = grouped
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rng, filled, batch = np.random.default_rng(9), 0, 3
    shape = (batch, TINY.kept_heads, CAPACITY, TINY.head)
    ours = {past_of(name): np.zeros(shape, "f4") for name in names[1:]}
    theirs = dict(ours)
    with execute.opened(package) as runnable:
        for rows in (5, 1, 1):
            filled += rows
            step = {
                "input_ids": rng.integers(0, TINY.vocabulary, (batch, rows)),
                "attention_mask": np.ones((batch, filled), np.int64),
            }
            found = runnable.run({**step, **ours}).outputs
            wanted = dict(zip(names, session.run(None, {**step, **theirs}), strict=True))
            np.testing.assert_allclose(found["logits"], wanted["logits"], rtol=0, atol=ATOL)
            ours = {past_of(name): found[name] for name in names[1:]}
            theirs = {past_of(name): wanted[name] for name in names[1:]}


#: Architecture, form of the weights, mask, layers, whether the caches are states, and the batches.
CONCAT = {
    "llama": ("llama", "f32", "places", 2, True, (1, 2, 3, 4)),
    "llama-grows": ("llama", "f32", "triangle", 1, False, (2, 4)),
    "gpt2": ("gpt2", "f32", "places", 2, True, (4,)),
    "f16": ("qwen2", "f16", "added", 1, True, (3,)),
}


@pytest.mark.parametrize("row", CONCAT)
def test_sequences_that_are_padded_left(row, tmp_path):
    ort = pytest.importorskip("onnxruntime")
    family, form, mask, layers, states, batches = CONCAT[row]
    model = optimum_models.built(replace(TINY, layers=layers), form, family, mask)
    given = llm_models.STATES if states else ()
    driver.compile_model(model, tmp_path / "p", archs=["host"], states=given)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    heads = session.get_inputs()[3].shape[1]
    floats, atol = (np.float16, 2e-2) if form == "f16" else (np.float32, ATOL)
    with execute.opened(tmp_path / "p") as runnable:
        for batch in batches:
            rng, past = np.random.default_rng(batch), 0
            real = (np.arange(CAPACITY) >= np.arange(batch)[:, None]).astype(np.int64)
            shape = (batch, heads, 0, TINY.head)
            theirs = {past_of(name): np.zeros(shape, floats) for name in names[1:]}
            rows_of = CAPACITY if states else 0
            ours = {k: np.zeros((batch, heads, rows_of, TINY.head), floats) for k in theirs}
            for rows in RUNS:
                seen = real[:, : past + rows]
                step = {
                    "input_ids": rng.integers(0, TINY.vocabulary, (batch, rows)),
                    "attention_mask": seen,
                    "position_ids": np.maximum(np.cumsum(seen, 1) - 1, 0)[:, past:],
                }
                found = runnable.run({**step, **ours}).outputs
                wanted = dict(zip(names, session.run(None, {**step, **theirs}), strict=True))
                tokens = seen[:, past:] == 1
                np.testing.assert_allclose(
                    found["logits"][tokens], wanted["logits"][tokens], rtol=0, atol=atol
                )
                assert np.ptp(wanted["logits"][tokens]) > 1
                past += rows
                ours = {past_of(name): found[name] for name in names[1:]}
                theirs = {past_of(name): wanted[name] for name in names[1:]}
                assert all(a.shape[2] == (rows_of or past) for a in ours.values())
            if states:  # no room for more: a run is refused
                rows = CAPACITY - past + 1
                step = {
                    "input_ids": np.zeros((batch, rows), np.int64),
                    "attention_mask": np.ones((batch, past + rows), np.int64),
                    "position_ids": np.zeros((batch, rows), np.int64),
                }
                with pytest.raises(ToolError, match="data"):
                    runnable.run({**step, **ours})
