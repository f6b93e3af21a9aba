"""The emitted C as a stranger sees it: no warning, no sanitizer finding, the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import corpus
import onnx
import pytest

from tests.c_warnings import strict
from tvm_megcc import driver, zoo
from tvm_megcc.core.machine import machine
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host import arrays, object_cache, package, toolchain

pytestmark = pytest.mark.slow

ARMV7 = ["-march=armv7-a", "-mfpu=neon"]
#: architecture -> the compilers that must have nothing to say.
COMPILERS = {
    "host": [["gcc"], ["clang"]],
    "arm64": [["aarch64-linux-gnu-gcc"], ["clang", "--target=aarch64-linux-gnu"]],
    "armv7": [
        ["arm-linux-gnueabihf-gcc", *ARMV7],
        ["clang", "--target=arm-linux-gnueabihf", *ARMV7],
    ],
}

#: Models of the corpus whose packages run under the sanitizers: vision, text, control, resizing.
SANITIZED = (
    "blazeface_front",
    "fsanet_headpose",
    "mnist_cntk",
    "policy_go1_joystick",
    "tinybert_test",
)

ZOO = ("tiny_cnn", "tiny_residual", "tiny_mlp")

#: Folders of a package's headers.
INCLUDES = ("include", "src")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory):
    """A package per zoo model for all architectures, compiled once."""
    folder = tmp_path_factory.mktemp("builds")
    made: dict[str, Path] = {}

    def get(name: str) -> Path:
        if name not in made:
            driver.compile_model(zoo.build(name), folder / name, archs=tuple(COMPILERS), name=name)
            made[name] = folder / name
        return made[name]

    return get


def distinct(folders: Iterable[Path]) -> dict[Path, list[Path]]:
    """The C files of each package that no earlier one has, with all that they include, as well."""
    seen, found = set(), {}
    for folder in folders:
        texts = object_cache.Texts(folder)
        found[folder] = []
        for path in sorted(folder.rglob("*.c")):
            name = str(path.relative_to(folder))
            key = tuple(texts.of([name], INCLUDES) or [name, folder])
            if key not in seen:
                seen.add(key)
                found[folder].append(path)
    return found


@pytest.mark.together
@pytest.mark.parametrize(
    ("arch", "compiler"),
    [
        pytest.param(arch, compiler, id=f"{arch}-{'clang' if 'clang' in compiler[0] else 'gcc'}")
        for arch, compilers in COMPILERS.items()
        for compiler in compilers
    ],
)
def test_builds_have_no_warning(packages, tmp_path, arch, compiler):
    if not shutil.which(compiler[0]):
        pytest.skip(f"needs {compiler[0]}")
    # The kernels for this CPU's features want its flags, as the Makefile gives them.
    features = machine(host_arch()).extra_flags if arch == "host" else ()
    command = [*compiler, "-std=c99", *strict(compiler[0]), "-O2", *features]
    for folder, sources in distinct(map(packages, ZOO)).items():
        include = [f"-I{folder / name}" for name in INCLUDES]
        words = map(str, [*command, *include, "-c", *sources])
        done = subprocess.run(list(words), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.together
@pytest.mark.parametrize("name", ZOO)
def test_builds_zoo_under_sanitizers(packages, tmp_path, name):
    opened = package.load(packages(name))
    arch = opened.choose("host")
    runner = toolchain.build(opened.path, arch, build_dir=tmp_path / "b", sanitize=True)
    inputs = arrays.fill(opened.inputs, "random")
    run = toolchain.run_package(runner, arch, inputs, opened.manifest, repeat=2)
    plain = toolchain.build(opened.path, arch, build_dir=tmp_path / "p")
    want = toolchain.run_package(plain, arch, inputs, opened.manifest)
    difference = abs(run.outputs["output"] - want.outputs["output"]).max()
    assert difference <= 1e-6 * abs(want.outputs["output"]).max()


@pytest.mark.parametrize("name", SANITIZED)
def test_builds_corpus_under_sanitizers(shared, tmp_path, name):
    model = corpus.load(shared / "models")[name]
    shapes, cases = model.shape_sets()[0]
    driver.compile_model(model.path, tmp_path / "p", input_shapes=shapes)
    opened = package.load(tmp_path / "p")
    arch = opened.choose("host")
    runner = toolchain.build(opened.path, arch, build_dir=tmp_path / "b", sanitize=True)
    for case in cases:
        run = toolchain.run_package(runner, arch, case.inputs(), opened.manifest)
        assert not [str(d) for d in corpus.compare(run.outputs, case) if not d.ok]


@pytest.mark.parametrize("name", ZOO)
def test_builds_same_bytes_in_every_process(tmp_path, name):
    """Two processes with other hash seeds write the same tar."""
    onnx.save(zoo.build(name), tmp_path / "m.onnx")
    made = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.tar"
        command = [sys.executable, "-m", "tvm_megcc", "compile", tmp_path / "m.onnx", "-o", out]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(
            [*map(str, command), "--arch", "arm64,armv7,portable"], env=environment, check=True
        )
        made.append(out.read_bytes())
    assert made[0] == made[1]
