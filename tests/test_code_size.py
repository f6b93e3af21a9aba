"""How much machine code a package has: MobileNetV1, which takes six kernels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tvm_megcc import driver, zoo
from tvm_megcc.core.machine import ROWS
from tvm_megcc.core.preference import Preference
from tvm_megcc.host import toolchain

#: Bytes for arm64. `size` has its kernels compiled for size, which have fewer tiles then.
LIMITS = {"balanced": 40_000, "size": 24_000}


@pytest.mark.parametrize("optimize", LIMITS)
def test_machine_code_stays_small(optimize: str, tmp_path: Path) -> None:
    if not shutil.which(ROWS["arm64"].compiler):
        pytest.skip(f"needs a compiler for arm64: apt install {ROWS['arm64'].packages}")
    model, package = tmp_path / "m.onnx", tmp_path / "package"
    model.write_bytes(zoo.build("mobilenet_v1", size=32).SerializeToString())
    driver.compile_model(model, package, archs=["arm64"], preference=Preference(optimize))
    runner = toolchain.build(package, "arm64")
    code = toolchain.text_bytes(runner.with_name("libmodel.a"), "arm64")
    assert code < LIMITS[optimize], f"{code:,} bytes of machine code in {optimize}"
