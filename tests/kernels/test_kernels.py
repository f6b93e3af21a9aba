"""Every kernel file on every case row it applies to, on every target (see harness.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import harness
import numpy as np
import pytest
from harness import FORMS, TARGETS, Target

from tests.closeness import compare
from tvm_megcc.core.machine import ARCHITECTURES
from tvm_megcc.kernels import registry

#: Each run has one of these, and all others: their code is compiled for another target as well.
_IN_TURN = ["arm64_small", "armv7_small", "arm64_inorder", "arm64_a53", "host_clang"]


def _marks(target: Target) -> list[pytest.MarkDecorator]:
    """One target is fast: the compiler of this machine, without sanitizers."""
    marks = [] if target.name == "host_gcc" else [pytest.mark.slow]
    if target.runner:
        marks = [pytest.mark.emulator]
    if target.name in _IN_TURN:
        marks += [pytest.mark.turn(_IN_TURN.index(target.name), len(_IN_TURN))]
    return marks


_PAIRS = [
    pytest.param(target, kernel.stem, id=f"{target.name}-{kernel.stem}", marks=_marks(target))
    for macro, targets in {"": TARGETS, **FORMS}.items()
    for target in targets
    for kernel in registry.kernels()
    if harness.is_run(kernel, target) and (not macro or harness.asks_for(kernel, macro))
]


@pytest.mark.together(by="target")
@pytest.mark.parametrize(("target", "stem"), _PAIRS)
def test_kernel(target: Target, stem: str, complaints) -> None:
    if target.missing():
        pytest.skip(target.missing())
    kernel = next(k for k in registry.kernels() if k.stem == stem)
    assert harness.applicable(kernel, target), (
        f"{stem} has no case for {target.arch}: add a row to tests/kernels/cases/{kernel.op}.py"
    )
    found = complaints(target, stem)
    assert not found, f"{len(found)} complaints about {stem}:\n" + "\n".join(found[:10])


@pytest.mark.parametrize("op", sorted(harness.case_modules()))
def test_cases_have_kernels(op: str) -> None:
    """No two kernels of equal rank, and no row that no kernel serves."""
    for arch in ARCHITECTURES:
        for case in harness.cases_of(op):
            assert registry.select(op, arch, case.facts).op == op


def test_compare_sees_a_difference() -> None:
    want = np.array([1.0, np.inf, np.nan, -2.0], np.float32)
    assert not compare(want.copy(), want, 1e-6)
    assert not compare(want.copy(), want, 0)
    for bad in (1.1, np.nan, np.inf):
        got = want.copy()
        got[0] = bad
        assert "first at 0" in compare(got, want, 1e-6)
        assert "first at 0" in compare(got, want, 0)
    got = want.copy()
    got[1] = -np.inf
    assert "first at 1" in compare(got, want, 1e-6)


def test_kernel_docs_are_current() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "gen_kernel_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
