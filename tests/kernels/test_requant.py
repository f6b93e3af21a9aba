"""megcc_requant_neon.h equals megcc_requant.h to the bit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import HERE, TARGETS, Target

from tvm_megcc.kernels.contract import OP_DIR


@pytest.mark.emulator
@pytest.mark.parametrize(
    "target", [t for t in TARGETS if t.name.startswith("arm")], ids=lambda t: t.name
)
@pytest.mark.parametrize("dtype", ["i8", "u8"])
@pytest.mark.parametrize("offset", [0, 1])
def test_neon_equals_scalar(target: Target, dtype: str, offset: int, tmp_path: Path) -> None:
    if target.missing():
        pytest.skip(target.missing())
    exe = tmp_path / "check"
    # Packages are compiled with contraction, which must not fuse the product and the offset.
    flags = (*target.flags_for(), "-std=gnu99", "-ffp-contract=fast", "-Wall", "-Wextra", "-Werror")
    defines = (f"-DY={dtype}", f"-DOFFSET={offset}", f"-I{OP_DIR.parent}")
    source = str(HERE / "requant_check.c")
    subprocess.run([target.cc, *flags, *defines, source, "-o", str(exe)], check=True)
    done = subprocess.run([*target.runner, str(exe)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
