"""Networks in bands of rows on a Cortex-M4 of qemu's: the arena, the same answers, their cost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cortexm import board
from tests.scripts.test_scripts import load
from tvm_megcc import driver
from tvm_megcc.core.preference import Preference
from tvm_megcc.host.firmware import Answer
from tvm_megcc.host.footprint import footprint
from tvm_megcc.host.package import load as package_of
from tvm_megcc.memory_options import MemoryOptions

pytestmark = [
    pytest.mark.skipif(bool(board.missing()), reason=board.missing() or "all is there"),
    pytest.mark.slow,
    pytest.mark.emulator,
]

NETWORKS = load("tiny_networks").NETWORKS
CPU, MACHINE = "cortex-m4", "cortexm+dsp"

#: Bytes of the arena, layer by layer and in bands.
ARENAS = {"vww": (55_328, 17_800), "ic": (49_728, 18_056), "kws": (16_256, 6_984)}

#: Instructions in bands, times those layer by layer, at most.
MORE = {"vww": 1.03, "ic": 1.03, "kws": 1.04}


def package(network: str, folder: Path, stream: str) -> tuple[Path, int]:
    """A package for the CPU, and the bytes of its arena."""
    out = folder / stream
    driver.compile_model(
        NETWORKS[network].build(),
        out,
        archs=[MACHINE],
        preference=Preference("speed"),
        memory=MemoryOptions(stream=stream),
    )
    facts = json.loads((out / "manifest.json").read_text())["per_arch"][MACHINE]
    return out, facts["arena_bytes"]


@pytest.mark.parametrize("network", ARENAS)
def test_answers_are_equal_and_the_arena_is_small(network: str, tmp_path: Path) -> None:
    given = NETWORKS[network].arrays()
    answers: list[Answer] = []
    for stream, most in zip(("off", "auto"), ARENAS[network], strict=True):
        out, arena = package(network, tmp_path, stream)
        assert arena <= most
        answers.append(board.run(out, CPU, given))
    whole, bands = answers
    np.testing.assert_array_equal(bands.outputs["output"], whole.outputs["output"])
    counts = [answer.counts.totals["instructions"] for answer in answers]
    assert counts[1] <= MORE[network] * counts[0]


def test_the_example_of_a_streamed_package_runs(tmp_path: Path) -> None:
    """With a painted stack, and the arena as a static buffer."""
    out, arena = package("vww", tmp_path, "auto")
    found = footprint(package_of(out), CPU)
    assert found.arena == arena <= 20_000
    assert found.stack < 2_048
