"""Objects that packages share are compiled once, and anew where anything about them differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime import programs as p
from tvm_megcc.host import object_cache, toolchain

Build = Callable[..., list[str]]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds a package, and says which sources a compiler saw."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    log, compiler = tmp_path / "log", tmp_path / "cc"
    real = toolchain.find_compiler(toolchain.host_arch())
    compiler.write_text(f'#!/bin/sh\necho "$@" >>{log}\nexec {real} "$@"\n')
    compiler.chmod(0o755)

    def built(package: Path, *flags: str, folder: str = "") -> list[str]:
        log.write_text("")
        toolchain.build(
            package, toolchain.host_arch(), cc=str(compiler), extra_cflags=["-O0", *flags],
            build_dir=tmp_path / (folder or f"build{len(list(tmp_path.iterdir()))}"),
        )  # fmt: skip
        lines = log.read_text().splitlines()
        return [line.split()[-1] for line in lines if " -c " in line]

    return built


@pytest.mark.slow
def test_a_second_package_compiles_what_is_its_own(build: Build, tmp_path: Path) -> None:
    arch = toolchain.host_arch()
    first, second = (p.write_corners(tmp_path / name, arch) for name in ("a", "b"))
    (kernel,) = second.glob("src/kernels/*/t_add.c")
    add = kernel.relative_to(second).as_posix()
    kernel.write_text(kernel.read_text() + "\n// another text\n")
    shared = {source for source in build(first, folder="one") if source.startswith("src/")}
    assert "src/megcc_run.c" in shared and add in shared
    again = build(second)
    assert [source for source in again if source in shared] == [add]
    assert "main.c" not in again and {"runner/loading.c", "model/model.c"} <= set(again)
    assert build(first, folder="one") == [], "make finds all of it built"
    (first / "src" / "megcc_run.c").touch()
    assert build(first, folder="one") == ["src/megcc_run.c"], "what make wants anew is compiled"


@pytest.mark.slow
def test_headers_and_flags_count(build: Build, tmp_path: Path) -> None:
    package = p.write_corners(tmp_path / "pkg", toolchain.host_arch())
    runtime = {source for source in build(package) if source.startswith("src/")}
    assert runtime.isdisjoint(build(package))
    assert runtime <= set(build(package, "-DOTHER=1"))
    debug = runtime & set(build(package, "-DMEGCC_DEBUG"))
    assert "src/megcc_run.c" in debug and "src/megcc_status.c" not in debug, "which do not name it"
    first = tmp_path / "first.h"
    for text in ("", "#define OTHER 1\n"):
        first.write_text(text)
        assert runtime <= set(build(package, "-include", str(first)))
    other = tmp_path / "other"
    other.mkdir()
    assert runtime.isdisjoint(build(package, f"-I{other}")), "a folder of which nothing is read"
    (other / "stddef.h").write_text("#include_next <stddef.h>\n")
    assert runtime & set(build(package, f"-I{other}"))
    header = package / "src" / "megcc_port.h"
    header.write_text(header.read_text() + "\n// another text\n")
    changed = runtime & set(build(package))
    assert "src/megcc_ports.c" in changed and "src/megcc_model.c" not in changed


@pytest.mark.slow
def test_broken_sources_are_not_kept(build: Build, tmp_path: Path) -> None:
    from tvm_megcc.errors import ToolError

    package = p.write_corners(tmp_path / "pkg", toolchain.host_arch())
    (kernel,) = package.glob("src/kernels/*/t_add.c")
    good = kernel.read_text()
    kernel.write_text("int broken = ;\n")
    for _ in range(2):
        with pytest.raises(ToolError, match="expected expression"):
            build(package)
    kernel.write_text(good)
    build(package)


@pytest.mark.slow
def test_few_are_kept(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "KEEP", 3)
    monkeypatch.setattr(object_cache, "SLACK", 0)
    build(p.write_corners(tmp_path / "pkg", toolchain.host_arch()))
    kept = list((tmp_path / "cache" / "tvm_megcc" / "objects").iterdir())
    assert len([path for path in kept if path.suffix == ".o"]) == 3
    assert {path.stem for path in kept} == {path.stem for path in kept if path.suffix == ".o"}


def test_what_a_macro_names_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    source = tmp_path / "src" / "a.c"
    command = "cc -Isrc -c -o obj/a.o src/a.c".split()
    (one,) = object_cache.compilations([" ".join(command), "ar qcs x"])
    assert (one.source, one.object, one.is_shared) == ("src/a.c", "obj/a.o", True)
    for flag in (
        "-g",
        "--coverage",
        "-fcallgraph-info=su",
    ):  # where it was built is in it, or another file is written
        assert not object_cache.Compilation(("cc", flag, *command[1:])).is_shared
    assert object_cache.Compilation(("cc", "-g1", *command[1:])).is_shared
    for text, known in {
        "#include <stdint.h>\n": True,
        "# include NAME\n": False,
    }.items():
        source.write_text(text)
        texts = object_cache.Texts(tmp_path)
        assert (texts.of(["src/a.c"], ["src"]) is not None) == known


def test_the_compiler_behind_ccache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in (("one", "ccache"), ("two", "good-gcc")):
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text("#!/bin/sh\n")
        (tmp_path / place / name).chmod(0o755)
    (tmp_path / "one" / "good-gcc").symlink_to("ccache")
    good = tmp_path / "two" / "good-gcc"
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    for command in ("good-gcc -m32", "ccache good-gcc", f"ccache {good}", str(good)):
        assert object_cache.program(command) == good
    for command in ("ccache", "other-gcc", str(tmp_path / "one" / "good-gcc"), ""):
        assert object_cache.program(command) is None
