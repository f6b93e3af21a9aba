"""The wide zoo: valid networks, the same ones each time, and ONNX Runtime's answers from ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.turns import in_turn

from .test_scripts import load, needs_cc

wide = load("wide_zoo")
instruction_table = load("instruction_table")

#: Compiled and run on this machine: few kernels each, of every family and both exporters.
COMPILED = (
    "bert", "embedding_bag_loop", "gat_sparse", "llama_step_int4", "mamba_scan", "pointnet",
    "silero", "stylegan", "super_resolution_reshaped", "t5_encoder", "tcn", "unet_resized",
)  # fmt: skip


@pytest.mark.parametrize("name", wide.NETWORKS)
def test_wide_zoo_network_is_valid_and_the_same_each_time(name: str) -> None:
    network = wide.NETWORKS[name]
    model = network.build().model()
    onnx.checker.check_model(model, full_check=False)
    data = model.SerializeToString(deterministic=True)
    assert data == network.build().model().SerializeToString(deterministic=True)
    assert len(data) < 10e6
    assert len({node.name for node in model.graph.node}) == len(model.graph.node)
    assert len(network.arrays(network.sizes[0])) == len(model.graph.input)
    open_dims = {d for port in network.build().inputs for d in port.dims if isinstance(d, str)}
    assert all(set(sizes) == open_dims for sizes in network.sizes), open_dims
    assert len(network.sizes) == (2 if open_dims else 1)


def test_wide_zoo_another_seed_gives_other_weights() -> None:
    build = next(iter(wide.NETWORKS.values())).build
    assert build(0).model().SerializeToString() != build(1).model().SerializeToString()


def test_wide_zoo_sees_outputs_that_say_nothing() -> None:
    assert wide.degenerate({"y": np.float32([1, np.nan])}) == "y is not finite"
    assert wide.degenerate({"y": np.zeros(3, np.float32)}) == "y is constant"
    assert wide.degenerate({"y": np.float32([1, 2])}) == ""


def test_wide_zoo_lists_writes_and_refuses(tmp_path: Path, capsys) -> None:
    assert wide.main(["--write", str(tmp_path), "bert"]) == 0
    assert onnx.load(tmp_path / "bert.onnx").graph.name == "bert"
    assert "batch 1, sequence 12" in capsys.readouterr().out
    for wrong in (["alexnet"], ["--columns", "price"]):
        with pytest.raises(SystemExit):
            wide.main(wrong)
        assert "no " in capsys.readouterr().err


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("name", in_turn(2, COMPILED))
def test_wide_zoo_answers_are_onnx_runtimes(name: str, tmp_path: Path) -> None:
    network = wide.NETWORKS[name]
    path = wide.write(network, tmp_path)
    ours = wide.timing.Ours(path, tmp_path / "package")
    differ = wide.compare(network, ours, wide.timing.OnnxRuntime(path, exact=True), seed=0)
    assert max(differ) < 1e-4, differ


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.parametrize("name", in_turn(2, wide.COUNTED))
def test_wide_zoo_instructions_are_those_of_the_table(name: str, tmp_path: Path) -> None:
    if not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64: apt install qemu-user")
    known, here = wide.stored(), instruction_table.ARM64.compiler()
    if here != known.compiler:
        pytest.skip(f"the table is of gcc {known.compiler} for arm64, here is {here or 'none'}")
    network = wide.NETWORKS[name]
    path = wide.write(network, tmp_path)
    counts = wide.instructions(network, path, tmp_path / "package")
    assert not wide.complaint(network, counts, known.counts[name])


def test_wide_zoo_growth_is_told_with_what_to_do() -> None:
    network = wide.NETWORKS["bert"]
    assert wide.complaint(network, [102, 200], [100, 200]) == ""
    said = wide.complaint(network, [100, 2060], [100, 2000])
    assert "bert at batch 2" in said and "3.0% more" in said and "--update bert" in said
