"""MLPerf Tiny's networks, made from a seed, on qemu's boards: answers, and instructions.

`scripts/instruction_table` has the table, tests/board_instructions.json.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cortexm import board
from tests.scripts.test_scripts import load
from tvm_megcc import driver
from tvm_megcc.core.preference import Preference
from tvm_megcc.host.firmware import Answer
from tvm_megcc.target import resolve

pytestmark = [
    pytest.mark.skipif(bool(board.missing()), reason=board.missing() or "all is there"),
    pytest.mark.slow,
    pytest.mark.emulator,
    pytest.mark.together(by="network"),  # its packages are compiled once for several CPUs
]

table = load("instruction_table")
timing = load("timing")
NETWORKS = table.NETWORKS
on_every_board = pytest.mark.parametrize(
    ("network", "cpu"), [name.split(":") for name in table.BOARDS.names]
)
#: Counts depend on layers and sizes. On a CPU without floats a few sums and a few channels of each
#: network take a longer way, so there they depend on weights, too.
REAL = 0.01
#: In ic, sums of two tensors in fixed point: scales decide how many are next to a half and are
#: computed one by one. The file's scales leave two bits fewer below the point.
SUMS = 0.025

Run = Callable[[Path, str, np.ndarray], Answer]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the model of a file on a CPU; a model is compiled once for each machine."""
    compiled: dict[tuple[Path, str], Path] = {}
    answers: dict[tuple[Path, str], Answer] = {}

    def answer(model: Path, cpu: str, given: np.ndarray) -> Answer:
        (machine,) = resolve([], [cpu])
        package = compiled.get((model, machine))
        if package is None:
            package = tmp_path_factory.mktemp("package") / "pkg"
            driver.compile_model(model, package, archs=[machine], preference=Preference("speed"))
            compiled[model, machine] = package
        if (model, cpu) not in answers:
            copy = shutil.copytree(package, package.with_name(cpu))
            (port,) = json.loads((copy / "manifest.json").read_text())["inputs"]
            answers[model, cpu] = board.run(copy, cpu, {port["name"]: given})
        return answers[model, cpu]

    return answer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a network by name."""
    folder = tmp_path_factory.mktemp("networks")

    def written(network: str) -> Path:
        path = folder / f"{network}.onnx"
        if not path.exists():
            onnx.save(NETWORKS[network].build(), path)
        return path

    return written


@on_every_board
def test_answers_are_onnx_runtimes_and_instructions_those_of_the_table(
    network: str, cpu: str, run: Run, made: Callable[[str], Path]
) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    given = NETWORKS[network].arrays()
    wanted, _ = timing.OnnxRuntime(made(network), exact=True).run(given, 1)
    answer = run(made(network), cpu, given["input"])
    np.testing.assert_array_equal(answer.outputs["output"], wanted["output"])
    known, here = table.BOARDS.stored(), table.BOARDS.compiler()
    if here != known.compiler:
        pytest.skip(f"the table is of gcc {known.compiler} for Cortex-M, here is {here}")
    count = answer.counts.totals["instructions"]
    assert not table.BOARDS.complaint(f"{network}:{cpu}", count)


@on_every_board
def test_the_benchmarks_own_file_takes_as_many_instructions(
    network: str, cpu: str, run: Run, made: Callable[[str], Path], shared: Path
) -> None:
    model = shared / "models_tflite" / f"{network}.tflite"
    if not model.is_file():
        pytest.skip(f"{model} is not there (--shared DIR)")
    given = NETWORKS[network].arrays()["input"]
    ours, real = (
        run(path, cpu, given).counts.totals["instructions"] for path in (made(network), model)
    )
    assert abs(ours / real - 1) < (SUMS if network == "ic" else REAL), (ours, real)


@pytest.mark.parametrize("network", ["kws", "ad"])
def test_code_for_size_takes_at_most_15_percent_more(network: str, tmp_path: Path) -> None:
    package = table.board_package(network, "cortex-m4", tmp_path / "pkg", "size")
    given = NETWORKS[network].arrays()
    small = board.run(package, "cortex-m4", given).counts.totals["instructions"]
    assert small <= 1.15 * table.BOARDS.stored().counts[f"{network}:cortex-m4"]
