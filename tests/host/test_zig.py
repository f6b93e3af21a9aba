"""Packages compile for machines that are not here: zig's clang brings their headers.

It is the newest clang that tests have, too. Every source of the zoo's packages is parsed for every
machine; of one package, runner and all, objects are made; `test_other_hosts.py` makes those of
larger kernels. ResNet50 is left out: its kernels are those of ResNet18 and MobileNet. Nothing is
linked, as zig would build each C library first.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.c_warnings import STRICT
from tvm_megcc import driver, zoo

pytest.importorskip("ziglang", reason="pip install ziglang")

TARGETS = (
    "x86_64-windows-gnu", "aarch64-macos", "aarch64-linux-musl", "riscv64-linux-musl",
    "wasm32-wasi",
)  # fmt: skip
WHOLE = "tiny_mlp"
MODELS = (WHOLE, "tiny_cnn", "tiny_residual", "mobilenet_v2")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Package -> its C files that no package before it has."""
    folder, found, seen = tmp_path_factory.mktemp("zig"), {}, set()
    for name in MODELS:
        model = zoo.build(name) if name.startswith("tiny") else zoo.build(name, size=32)
        driver.compile_model(model, folder / name, archs=["x86", "arm64", "portable"], name=name)
        files = {path: path.read_bytes() for path in sorted((folder / name).rglob("*.c"))}
        # Without its path a source is another one only if its text is.
        found[name] = [path for path, text in files.items() if text not in seen]
        seen.update(files.values())
    return found


def zig(folder: Path, *words: object) -> str:
    """What zig prints; its cache is a folder of the test's own."""
    import ziglang

    caches = {f"ZIG_{k}_CACHE_DIR": str(folder / "cache") for k in ("LOCAL", "GLOBAL")}
    command = [str(Path(ziglang.__file__).with_name("zig")), *map(str, words)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, **caches}
    )
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout + done.stderr


def includes(root: Path, folder: Path) -> list[str]:
    """Where headers are, and what make would make of weights that the assembler cannot take in."""
    for k in range(len(list(root.glob("model/*.bin")))):
        (folder / f"weights{k}.inc").write_text("0\n")
    return [f"-I{path}" for path in (root / "include", root / "src", folder)]


def clang_options(target: str, folder: Path) -> list[str]:
    """With which zig calls its clang for a target; one call of that parses many files."""
    (folder / "empty.c").write_text("typedef int empty;\n")
    said = zig(folder, "cc", "-target", target, "-v", "-c", "empty.c", "-o", "empty.o")
    line = next(line for line in said.splitlines() if " -cc1 " in line)
    triple = re.search(r" -triple (\S+)", line)
    options = re.findall(r" (-isystem|-D) (\S+)", line)
    assert triple and options
    return ["-target", triple[1], "-nostdinc", *(word for pair in options for word in pair)]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_every_source_of_the_zoo(
    sources: dict[str, list[Path]], target: str, tmp_path: Path
) -> None:
    options = [*clang_options(target, tmp_path), "-std=c99", "-fsyntax-only", *STRICT]
    for files in sources.values():
        root = next(p for p in files[0].parents if (p / "manifest.json").exists())
        assert not zig(tmp_path, "clang", *options, *includes(root, tmp_path), *files)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_whole_package(sources: dict[str, list[Path]], target: str, tmp_path: Path) -> None:
    """All files of one, runner and all, by zig's own call: code, assembly, weights."""
    root = next(p for p in sources[WHOLE][0].parents if (p / "manifest.json").exists())
    options = ["-std=c99", "-O0", "-g0", *includes(root, tmp_path)]
    for path in sources[WHOLE]:
        if path.name != "megcc_pool.c":
            made = tmp_path / "one.o"
            zig(tmp_path, "cc", "-target", target, *options, "-c", path, "-o", made)
            made.unlink()
