"""``--seed``: of inputs that are made up, and of numbers that the model draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.philox import uniform
from tvm_megcc.cli import main

MODEL = parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[8] x) => (float[8] same, float[8] drawn) {
      same = Neg(x) drawn = RandomUniformLike(x) }""")


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seed")
    onnx.save(MODEL, folder / "model.onnx")
    assert main(["compile", str(folder / "model.onnx"), "-o", str(folder / "package")]) == 0
    return folder


@pytest.mark.slow
def test_a_seed_is_that_of_inputs_and_draws(tvmc, drawing: Path, tmp_path: Path) -> None:
    found = []
    for k, seed in enumerate(("7", "7", str(2**63 - 1), "0")):
        given = () if seed == "0" else ("--seed", seed)
        written = tmp_path / f"{k}.npz"
        assert tvmc("run", drawing / "package", *given, "--outputs", written).status == 0
        found.append(dict(np.load(written)))
        np.testing.assert_array_equal(found[-1]["drawn"], uniform(8, int(seed), 0))
    np.testing.assert_array_equal(found[0]["same"], found[1]["same"])
    assert len({row["same"].tobytes() for row in found}) == 3


@pytest.mark.slow
def test_a_run_that_is_timed_draws_on(tvmc, drawing: Path, tmp_path: Path) -> None:
    """The outputs are those of the last of one untimed and three timed runs."""
    written = tmp_path / "out.npz"
    ran = tvmc("run", drawing / "package", "--seed", 3, "--repeat", 3, "--outputs", written)
    assert ran.status == 0
    np.testing.assert_array_equal(np.load(written)["drawn"], uniform(8, 3, 3))


@pytest.mark.parametrize("seed", ["-1", "x", str(2**63)])
def test_what_is_no_seed(drawing: Path, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", str(drawing / "package"), f"--seed={seed}"])
    assert f"'{seed}' is no whole number from 0 to 2**63 - 1" in capsys.readouterr().err


@pytest.mark.slow
def test_compare_says_why_results_differ(tvmc, drawing: Path) -> None:
    said = tvmc("compare", drawing / "model.onnx", drawing / "package").sentence()
    assert "beyond the tolerance: 'drawn'; RandomUniformLike 'drawn' draws random numbers" in said
