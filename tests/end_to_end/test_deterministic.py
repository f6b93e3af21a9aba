"""The same model gives the same bytes, whatever hashes and addresses a process happens to have."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from tvm_megcc import driver
driver.compile_model(sys.argv[1], sys.argv[2], archs=("portable",))
"""


def digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ppocr_v3_det", "silero_vad_op18_ifless"])
def test_same_bytes(name: str, shared: Path, tmp_path: Path) -> None:
    """With open sizes, each time in a process of its own."""
    model = shared / "models" / name / "model.onnx"
    found = []
    for seed in ("1", "77"):
        out = tmp_path / seed
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(model), str(out)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        found.append(digests(out))
    assert found[0] == found[1]
