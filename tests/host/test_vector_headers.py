"""Headers of vector instructions are parsed once for many kernels; objects stay what they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_megcc.core.machine import ROWS
from tvm_megcc.host import toolchain, vector_headers
from tvm_megcc.host.object_cache import Compilation

GCC = shutil.which("gcc", path="/usr/bin:/usr/local/bin")
HEADER, VALUE = {
    "x86": ("immintrin.h", "_mm_cvtsi128_si32(_mm_set1_epi32(x))"),
    "arm64": ("arm_neon.h", "vgetq_lane_s32(vdupq_n_s32(x), 0)"),
}.get(toolchain.host_arch().split("+")[0], ("", ""))

pytestmark = pytest.mark.skipif(
    GCC is None or not HEADER or not vector_headers._is_gcc(GCC), reason="needs gcc and vectors"
)


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Compilation]:
    """Sources that include the header through one of their own, after other declarations."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "Makefile").write_text(
        "obj/%.o: src/%.c\n\t$(CC) -Isrc $(EXTRA_CFLAGS) -H -MMD -c -o $@ $<\n"
    )
    (tmp_path / "obj").mkdir()
    (tmp_path / "src" / "simd.h").write_text(f"int first;\n#include <{HEADER}>\n")
    found = []
    for k in range(vector_headers.ENOUGH):
        source = tmp_path / "src" / f"k{k}.c"
        source.write_text(
            f'#include "simd.h"\nint f{k}(int x);\nint f{k}(int x) {{ return {VALUE}; }}\n'
        )
        words = f"{GCC} -Isrc -O2 -MMD -c -o obj/k{k}.o src/k{k}.c"
        found.append(Compilation(tuple(words.split())))
    (tmp_path / "src" / "plain.c").write_text("int plain;\n")
    found.append(Compilation(tuple(f"{GCC} -Isrc -O2 -c -o obj/plain.o src/plain.c".split())))
    return found


def _build(folder: Path, *options: str) -> tuple[bytes, str, str]:
    """A kernel's object, what the compiler opened for it, and what make will know of it."""
    (folder / "obj" / "k0.o").unlink(missing_ok=True)
    command = ["make", f"CC={GCC}", "EXTRA_CFLAGS=-O2", *options, "obj/k0.o"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    made = folder / "obj" / "k0.o"
    return made.read_bytes(), done.stderr, made.with_suffix(".d").read_text()


@pytest.mark.slow
def test_objects_are_the_same(tmp_path: Path, kernels: list[Compilation]) -> None:
    (rule,) = vector_headers.rules(tmp_path, kernels, str(GCC))
    assert "obj/k0.o obj/k1.o" in rule and "plain" not in rule
    with_it, without = _build(tmp_path, rule), _build(tmp_path)
    assert with_it[0] == without[0] and with_it[2] == without[2]
    assert f"! {tmp_path}" in with_it[1] and "!" not in without[1]


@pytest.mark.slow
def test_one_is_made_for_many_and_found_for_few(tmp_path: Path, kernels: list[Compilation]) -> None:
    assert not vector_headers.rules(tmp_path, kernels[1:], str(GCC))
    (rule,) = vector_headers.rules(tmp_path, kernels, str(GCC))
    few = vector_headers.rules(tmp_path, kernels[:1], str(GCC))
    assert few and few[0].split("EXTRA_CFLAGS")[1] == rule.split("EXTRA_CFLAGS")[1]
    other = [Compilation((*k.words[:1], "-O1", *k.words[1:])) for k in kernels]
    assert not vector_headers.rules(tmp_path, other[:1], str(GCC)), "other flags, another header"


@pytest.mark.parametrize("compiler", ["clang", "tcc", "no-such-compiler", "/usr/lib/ccache/gcc"])
def test_other_compilers_parse_it_each_time(
    tmp_path: Path, kernels: list[Compilation], compiler: str
) -> None:
    assert not vector_headers.rules(tmp_path, kernels, compiler)


@pytest.mark.slow
def test_few_are_kept(
    tmp_path: Path, kernels: list[Compilation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_headers, "KEEP", 1)
    for level in ("-O1", "-O2"):
        rows = [Compilation((*k.words[:1], level, *k.words[1:])) for k in kernels]
        assert vector_headers.rules(tmp_path, rows, str(GCC))
    assert len(list((tmp_path / "cache" / "tvm_megcc" / "headers").iterdir())) == 1


def test_gcc_by_any_name() -> None:
    names = ["gcc", "gcc-12", "x86_64-linux-gnu-gcc-12", ROWS["arm64"].compiler]
    assert all(vector_headers._GCC.fullmatch(name) for name in names)
    assert not any(vector_headers._GCC.fullmatch(name) for name in ("clang", "ccache", "tcc"))
