"""The networks of MLPerf Tiny from a seed are what the boards' tables say they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tvm_megcc import driver, execute
from tvm_megcc.host import package

from .test_scripts import load

networks = load("tiny_networks")
timing = load("timing")

#: Multiply-adds of the benchmark's files.
MULTIPLY_ADDS = {
    "kws": 2_656_768,
    "ic": 12_501_632,
    "vww": 7_489_664,
    "sww": 826_368,
    "ad": 264_192,
}


def test_a_seed_is_a_network() -> None:
    for network in networks.NETWORKS.values():
        same, again, other = (network.build(seed).SerializeToString() for seed in (0, 0, 1))
        assert same == again and same != other
        assert not np.array_equal(*(network.arrays(seed)["input"] for seed in (0, 1)))


def test_padding_is_tensorflows() -> None:
    assert networks._padding(49, 10, 2) == (4, 5) and networks._padding(10, 4, 2) == (1, 1)
    assert networks._padding(96, 3, 2) == (0, 1) and networks._padding(5, 3, 1) == (1, 1)
    # Windows begin at -1, 0, ..., 3; two of them lose one tap of three.
    assert networks._inside(5, 3, 1, 1, 1) == pytest.approx((2 + 3 + 3 + 3 + 2) / 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_answers_are_onnx_runtimes_and_depend_on_the_input(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    network = networks.NETWORKS[name]
    onnx.save(network.build(), tmp_path / "model.onnx")
    driver.compile_model(tmp_path / "model.onnx", tmp_path / "pkg", archs=["portable"])
    (facts,) = package.load(tmp_path / "pkg").manifest["per_arch"].values()
    assert facts["work"]["multiply_adds"] == {"i8": MULTIPLY_ADDS[name]}
    peer = timing.OnnxRuntime(tmp_path / "model.onnx", exact=True)
    answers = []
    with execute.opened(tmp_path / "pkg") as runnable:
        for seed in range(4):
            given = network.arrays(seed)
            answers.append(runnable.run(given).outputs["output"])
            np.testing.assert_array_equal(answers[-1], peer.run(given, 1)[0]["output"])
    assert np.ptp(np.stack(answers).astype(int), axis=0).max() >= 10, answers
