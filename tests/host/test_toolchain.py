"""Building packages: what is written, what is rebuilt, what is said when a tool is missing."""

from __future__ import annotations

import os

import pytest

from tests.runtime import programs as p
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import toolchain


@pytest.mark.slow
def test_package_build_leaves_the_package_alone(tmp_path):
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch)
    before = {f: f.stat().st_mtime_ns for f in package.rglob("*")}
    exe = toolchain.build(package, arch, build_dir=tmp_path / "out")
    assert {f: f.stat().st_mtime_ns for f in package.rglob("*")} == before
    built = exe.stat().st_mtime_ns
    toolchain.build(package, arch, build_dir=tmp_path / "out")
    assert exe.stat().st_mtime_ns == built, "nothing changed, yet it was built again"
    toolchain.build(package, arch, build_dir=tmp_path / "out", extra_cflags=["-O1"])
    assert exe.stat().st_mtime_ns != built, "other flags, yet it was not built again"


def test_missing_tools_name_their_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolError, match="apt install gcc"):
        toolchain.find_compiler("portable")
    for arch, packages in [
        ("arm64", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
        ("armv7", "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"),
    ]:
        if not toolchain.is_native(arch):
            with pytest.raises(ToolError, match=packages):
                toolchain.find_compiler(arch)
            with pytest.raises(ToolError, match="qemu-user"):
                toolchain._launcher(arch)
    with pytest.raises(InputError, match="architecture 'mips' is not known"):
        toolchain.find_compiler("mips")


def test_build_of_no_package(tmp_path):
    with pytest.raises(InputError, match="not a package"):
        toolchain.build(tmp_path, "portable")
    assert not os.listdir(tmp_path)


def test_build_failure_shows_the_compilers_words(tmp_path):
    package = p.write_corners(tmp_path / "pkg", toolchain.host_arch())
    (package / "src" / "kernels" / "t_add.c").write_text("int broken = ;\n")
    with pytest.raises(ToolError, match="expected expression"):
        toolchain.build(package, toolchain.host_arch(), build_dir=tmp_path / "out")


@pytest.mark.parametrize(
    "archs, arch, wanted",
    [
        (["x86"], "x86", []),
        (["x86", "arm64"], "arm64", []),
        (["arm64", "x86+avx2"], "x86+avx2", []),
        (["x86", "x86+avx2"], "x86+avx2", ["--machine", "x86+avx2"]),
        (["x86", "x86+avx2", "arm64"], "x86", ["--machine", "x86"]),
        (["x86", "x86+avx2", "arm64"], "arm64", []),
    ],
)
def test_the_runner_is_told_a_machine_where_it_has_several(
    archs: list[str], arch: str, wanted: list[str]
) -> None:
    assert toolchain._machine(arch, {"archs": archs}) == wanted
