"""The C++ program of docs/tvm.md with TVM's aarch64 runtime, under qemu, where no Python is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

import tvm_megcc
from tests.test_docs import ROOT, blocks
from tvm_megcc import frontend, zoo

pytestmark = [pytest.mark.together, pytest.mark.slow, pytest.mark.emulator]

CXX, QEMU, LIBC = "aarch64-linux-gnu-g++", "qemu-aarch64", "/usr/aarch64-linux-gnu"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TVM's libraries for aarch64, of the versions that are installed here."""
    for tool in (CXX, QEMU):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    folder = tmp_path_factory.mktemp("aarch64")
    wanted = [f"{name}=={version(name)}" for name in ("apache-tvm", "apache-tvm-ffi")]
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (28, 27, 24, 17)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"--dest={folder}"]
    command += ["--only-binary=:all:", "--python-version=3.11", *platforms, *wanted]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"TVM's aarch64 wheels cannot be had: {done.stderr.strip()[-200:]}")
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as file:
            names = [n for n in file.namelist() if n.endswith(("tvm_runtime.so", "tvm_ffi.so"))]
            file.extractall(folder, names)
    return folder


def test_library_of_another_machine_runs_in_tvms_runtime(runtime: Path, tmp_path: Path) -> None:
    (program,) = (b for b in blocks((ROOT / "docs/tvm.md").read_text()) if b.file == "run.cpp")
    (tmp_path / "run.cpp").write_text(program.text)
    libraries = [runtime / "tvm_ffi/lib", runtime / "tvm/lib"]
    command = [CXX, "-std=c++17", "-O1", str(tmp_path / "run.cpp"), "-o", str(tmp_path / "run")]
    command += [f"-I{tvm_ffi.libinfo.find_include_path()}", *(f"-L{path}" for path in libraries)]
    subprocess.run([*command, "-Wl,--no-as-needed", "-ltvm_ffi", "-ltvm_runtime"], check=True)

    mod = frontend.from_onnx(zoo.build("tiny_cnn")).mod
    target = tvm.target.Target({"kind": "llvm", "mtriple": "aarch64-linux-gnu"})
    executable = tvm.compile(tvm_megcc.transform.pipeline("arm64")(mod), target)
    out = tmp_path / "model.so"
    executable.export_library(str(out), cc="aarch64-linux-gnu-gcc")
    path = ":".join(map(str, libraries))
    done = subprocess.run(
        [QEMU, "-L", LIBC, "-E", f"LD_LIBRARY_PATH={path}", str(tmp_path / "run"), str(out)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    here = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    want = here["main"](tvm.runtime.tensor(np.ones((1, 3, 32, 32), "float32"))).numpy()
    np.testing.assert_allclose(np.array(done.stdout.split(), "f4"), want[0], atol=2e-5)
