"""The built wheel works in an environment of its own, away from the checkout."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.together, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "tvm_megcc", "codegen_c", "runtime")


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Run without anything of this environment; the standard output."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={"PATH": os.defpath, "HOME": str(cwd), **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("setuptools")
    pytest.importorskip("wheel")
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    for name in SOURCES:  # a copy: setuptools leaves build/ where it works
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            tree.mkdir(exist_ok=True)
            shutil.copy(source, tree / name)
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    run(sys.executable, "-m", "pip", "wheel", "-q", *flags, tree, "-w", folder, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; TVM and the like are those of this environment.

    A path file makes this environment's packages visible without running their own path files,
    so an editable installation of the checkout stays out of sight.
    """
    folder = tmp_path_factory.mktemp("environment")
    env = folder / "env"
    run(sys.executable, "-m", "venv", "--without-pip", env, cwd=folder)
    pip = [sys.executable, "-m", "pip", "--python", env / "bin/python"]
    flags = ["--no-deps", "--no-index", "--disable-pip-version-check"]
    run(*pip, "install", "-q", *flags, wheel, cwd=folder)
    (packages,) = env.glob("lib/python*/site-packages")
    (packages / "of_the_tests.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return env


def test_wheel_has_every_module_and_data_file(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"{prefix}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, prefix in [
            ("tvm_megcc", "tvm_megcc"),
            ("codegen_c", "tvm_megcc/codegen_c"),
            ("runtime", "tvm_megcc/runtime"),
        ]
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert not wanted - inside


def test_wheel_is_what_gets_imported(environment, tmp_path):
    code = "import tvm_megcc.codegen_c, tvm_megcc.runtime, os; "
    code += "print(*map(os.path.realpath, (tvm_megcc.__file__, tvm_megcc.codegen_c.__file__)))"
    for path in run(environment / "bin/python", "-c", code, cwd=tmp_path).split():
        assert Path(path).is_relative_to(environment.resolve())


def test_wheel_compiles_and_runs_a_model(environment, tmp_path):
    if not (shutil.which("make") and shutil.which("cc")):
        pytest.skip("needs make and cc")
    tvmc = environment / "bin/tvmc"
    run(environment / "bin/python", "-m", "tvm_megcc.zoo", ".", "tiny_cnn", cwd=tmp_path)
    run(tvmc, "compile", "tiny_cnn.onnx", "-o", "pkg", cwd=tmp_path)
    run(tvmc, "run", "pkg", "--fill-mode", "ones", "--outputs", "out.npz", cwd=tmp_path)
    assert zipfile.ZipFile(tmp_path / "out.npz").namelist() == ["output.npy"]
    package = b"".join(p.read_bytes() for p in (tmp_path / "pkg").rglob("*") if p.is_file())
    assert str(environment).encode() not in package
