"""Chains of networks: right answers of packages and loops by hand, and their instructions."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import chain_graphs as graphs
import numpy as np
import onnx
import pytest

from tests.closeness import compare

from .test_scripts import ROOT, load, needs_cc

chains = load("chains")
table = chains.instruction_table

pytestmark = pytest.mark.together

#: Of the largest magnitude. An answer in bf16 is rounded once, or where the chain rounds.
LIMITS = {graphs.F32: 2e-6, graphs.F16: 1e-3, graphs.BF16: 2**-7, graphs.I8: 0, graphs.I32: 0}


#: Chains above `chains.MOST` times their loop: the bound that they keep, and what it comes from.
LEFT: dict[str, tuple[float, str]] = {
    "sine_positions": (2.15, "product, slices, sine, cosine and concat are a call each"),
    "demodulate": (1.95, "four calls; loops over the nine taps of each channel"),
    "edge_scores": (2.0, "the innermost loop is over four heads: one vector"),
    "token_mean": (2.2, "the sum of columns keeps its sums in memory"),
}


def expected(case: graphs.Case) -> np.ndarray:
    """ONNX Runtime's answer, or that of onnx.reference in bf16, in which it has no arithmetic."""
    model = graphs.model([case])
    if case.output.kind == graphs.BF16:
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(model).run(None, case.given)[0]
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, case.given)[0]


def complaint(got: np.ndarray, case: graphs.Case) -> str:
    want = expected(case)
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind not in "iu":
        assert np.ptp(want.astype(np.float64)) > 0.1
        got, want = got.astype(np.float64), want.astype(np.float64)
    return compare(got, want, LIMITS[case.output.kind])


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory):
    return chains.Loops(tmp_path_factory.mktemp("loops"), chains.toolchain.host_arch())


@pytest.fixture(scope="module")
def loops_arm64(tmp_path_factory: pytest.TempPathFactory):
    return chains.Loops(tmp_path_factory.mktemp("loops_arm64"), chains.ARCH)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, np.ndarray]:
    """Outputs of a package of all chains for this machine, by name."""
    cases = [chain.case() for chain in graphs.CHAINS.values()]
    folder = tmp_path_factory.mktemp("chains")
    onnx.save(graphs.model(cases), folder / "chains.onnx")
    ours = chains.timing.Ours(folder / "chains.onnx", folder / "package")
    return ours.run({name: a for case in cases for name, a in case.given.items()}, 1)[0]


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("name", graphs.CHAINS)
def test_chain_package_has_the_right_answer(name: str, answers) -> None:
    case = graphs.CHAINS[name].case()
    assert not complaint(answers[case.output.name], case)


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("name", graphs.CHAINS)
def test_chain_loop_has_the_right_answer(name: str, loops) -> None:
    chain = graphs.CHAINS[name]
    for less in (0, 1, 6) if chain.sizes else (0,):  # at sizes of which no vector is whole, too
        case = replace(chain, sizes={d: max(1, n - less) for d, n in chain.sizes.items()}).case()
        assert not complaint(loops.run(case)[0], case), case.dims


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.parametrize("name", graphs.CHAINS)
def test_chain_instructions_beside_the_loop(name: str, loops_arm64, tmp_path: Path) -> None:
    if not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64: apt install qemu-user")
    known, here = table.ARM64.stored().compiler, table.ARM64.compiler()
    if here != known:
        pytest.skip(f"ratios are of gcc {known} for arm64, here is {here or 'none'}")
    row = chains.counted(graphs.CHAINS[name].case(), loops_arm64, tmp_path / "package")
    bound, why = LEFT.get(name, (chains.MOST, ""))
    assert row.ratio <= bound, f"{row.ratio:.2f} times the loop's instructions; allowed: {bound}"
    if why:
        assert row.ratio > chains.MOST, f"{row.ratio:.2f}: take {name} out of LEFT"


def test_chains_left_over_are_chains_and_say_why() -> None:
    assert LEFT.keys() <= graphs.CHAINS.keys()
    assert all(bound > chains.MOST and why for bound, why in LEFT.values())


def test_loops_are_compiled_as_kernels_are() -> None:
    makefile = (ROOT / "codegen_c/emit/package/Makefile").read_text()
    text = makefile + "".join(path.read_text() for path in (ROOT / "codegen_c/emit").glob("*.py"))
    assert all(flag in text for flag in chains.FLAGS)


def test_chains_are_the_same_each_time_and_have_loops() -> None:
    loops_c = (ROOT / "tests/chains/loops.c").read_text()
    for chain in graphs.CHAINS.values():
        first, again, other = chain.case(), chain.case(), chain.case(seed=1)
        for name, array in first.given.items():
            assert np.array_equal(array, again.given[name])
            assert not np.array_equal(array, other.given[name])
        assert graphs.model([first]) == graphs.model([again])
        assert f"static void {chain.name}(void *const *ptr" in loops_c and chain.what


def test_chains_lists_and_refuses(capsys) -> None:
    assert chains.main(["--list", "glu"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["glu", "Conformer"]
    with pytest.raises(SystemExit):
        chains.main(["nothing"])
    assert "no chain nothing" in capsys.readouterr().err
