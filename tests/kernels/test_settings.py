"""What headers let be tuned: each value gives a kernel that is right, and its formulas know it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import harness
import pytest
import runner
from harness import TARGETS

from tvm_megcc.kernels import registry
from tvm_megcc.kernels.header import parse

TUNED = [kernel for kernel in registry.kernels() if kernel.tune]
GEMM = next(kernel for kernel in TUNED if kernel.stem == "conv2d_nhwc_f32_gemm")


def test_settings_are_each_a_kernel_of_its_own() -> None:
    forms = registry.settings(GEMM)
    assert [form.candidate for form in forms] == [
        f"conv2d_nhwc_f32_gemm MEGCC_{row}"
        for row in ("GEMM_BLOCK=24", "GEMM_BLOCK=48", "GEMM_BLOCK=192", "CONV_FEW=1", "CONV_FEW=64")
    ]
    case = next(c for c in harness.cases_of("conv2d") if not GEMM.refusal("arm64", c.facts))
    instance = forms[0].instance(case.facts)
    assert instance.symbol.endswith("_megcc_gemm_block24")
    assert instance.defines[-1] == ("MEGCC_GEMM_BLOCK", "24")
    # Blocks of 24 pixels, 96, 192: every formula of the header counts with them.
    large = {**case.facts, "n": 1, "g": 1, "oc": 16, "oh": 24, "ow": 32}
    assert [form.work(large) for form in (forms[0], GEMM, forms[2])] == [32, 8, 4]
    assert forms[0].workspace(large) < GEMM.workspace(large) < forms[2].workspace(large)


def test_settings_leave_out_the_value_of_the_file() -> None:
    """Kernels of one file have one list, and each its own value; columns are whole panels."""
    cols = {k.stem: dict(k.tune)["MEGCC_WINOGRAD_COLS"] for k in TUNED if "winograd" in k.stem}
    assert cols["conv2d_nhwc_f32_winograd4"] == (8, 16, 48)
    assert cols["conv2d_nhwc_f32_winograd4_x86"] == (16,)
    tiles = {k.stem: dict(k.tune)["MEGCC_WINOGRAD_TILES"] for k in TUNED if "winograd" in k.stem}
    assert tiles["conv2d_nhwc_f32_winograd4"] == (8, 32)


@pytest.mark.parametrize("line", ["NOTHING=1", "MEGCC_GEMM_BLOCK", "MEGCC_GEMM_BLOCK=few"])
def test_settings_of_a_header_are_checked(tmp_path: Path, line: str) -> None:
    path = tmp_path / "conv2d" / GEMM.path.name
    path.parent.mkdir()
    path.write_text(GEMM.path.read_text().replace("// tune: ", f"// tune: {line} "))
    with pytest.raises(ValueError, match=f"tune: '{line}' is no macro of the file with values"):
        parse(path)


@pytest.mark.slow
def test_settings_compute_the_same(tmp_path: Path) -> None:
    """The ends of each list, on memory that ends at unreadable pages; two of each file."""
    target = replace(next(t for t in TARGETS if t.name == "host_gcc"), most=1)
    if target.missing():
        pytest.skip(target.missing())
    run = [k for k in TUNED if harness.is_run(k, target)]
    ends = [{k.path: k for k in rows} for rows in (run, run[::-1])]
    chosen = {k.stem: k for kernels in ends for k in kernels.values()}
    forms = [
        form
        for kernel in chosen.values()
        for form in registry.settings(kernel)
        if any(form.settings[0][1] in (row[0], row[-1]) for _, row in kernel.tune)
    ]
    assert len(forms) > 10
    found = runner.run_target(target, forms, tmp_path)
    assert not any(found.values()), {stem: rows[:3] for stem, rows in found.items() if rows}
