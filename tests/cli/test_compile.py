"""``tvmc compile``: what it writes, and that equal input gives equal bytes."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest

from tvm_megcc.host.files import read_tree


def test_compile_directory(tvmc, model: Path, tmp_path: Path) -> None:
    ran = tvmc("compile", model, "-o", tmp_path / "pkg", "--arch", "arm64,portable")
    assert (ran.status, ran.err) == (0, "")
    (line,) = ran.out.splitlines()
    assert re.fullmatch(
        r"'.*pkg': arm64 \(weights [\d,]+ bytes, arena [\d,]+ bytes, \d+ kernels\),"
        r" portable \(.*\); \d+\.\d s",
        line,
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pkg"]
    manifest = json.loads((tmp_path / "pkg" / "manifest.json").read_text())
    assert manifest["archs"] == ["arm64", "portable"]
    assert [p["name"] for p in manifest["inputs"]] == ["x:0"]
    assert [p["name"] for p in manifest["outputs"]] == ["y/0", "sum"]


def test_compile_with_stepping(tvmc, model: Path, tmp_path: Path) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "pkg", "--stepping").status == 0
    assert (tmp_path / "pkg" / "include" / "megcc_step.h").is_file()
    ran = tvmc("compile", model, "-o", tmp_path / "m.so", "--stepping")
    assert ran.status == 1 and "a library runs a model as a whole; leave out --stepping" in ran.err


def test_compile_for_arduino(tvmc, model: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    command = ["compile", model, "-o", library, "-f", "arduino", "--arch", "portable"]
    for _ in range(2):  # an earlier one is replaced
        assert tvmc(*command).status == 0
    assert (library / "library.properties").is_file() and not (library / "Makefile").exists()
    assert not list(library.rglob("*.bin")), "what is not compiled may not be copied"
    ran = tvmc(*command, "--weights", "bin")
    assert ran.status == 1 and "a sketch has no file to map; leave out --weights bin" in ran.err
    ran = tvmc("run", library)
    assert ran.status == 1 and "no Makefile" in ran.err


def test_compile_names_the_module(tvmc, model: Path, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    given = ["compile", model, "-o", package, "--module-name"]
    assert tvmc(*given, "watch_dog").status == 0
    assert json.loads((package / "manifest.json").read_text())["c_name"] == "watch_dog"
    assert "const megcc_image_t watch_dog_image" in (package / "model" / "model.c").read_text()
    assert "megcc::watch_dog" in (package / "CMakeLists.txt").read_text()
    ran = tvmc(*given, "watch-dog")
    assert ran.status == 1
    assert "module name 'watch-dog' cannot begin" in ran.err and "take 'watch_dog'" in ran.err


@pytest.mark.parametrize("name", ["pkg", "pkg.tar", "mlf.tar"])
def test_compile_twice_gives_equal_bytes(tvmc, model: Path, tmp_path: Path, name: str) -> None:
    made = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        out = tmp_path / folder / name
        fmt = ["-f", "mlf"] if name == "mlf.tar" else []
        assert tvmc("compile", model, "-o", out, "--arch", "arm64,x86", *fmt).status == 0
        made.append(read_tree(tmp_path / folder))
    assert made[0] == made[1]


def test_compile_tar_holds_the_package(tvmc, model: Path, tmp_path: Path) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "pkg").status == 0
    assert tvmc("compile", model, "-o", tmp_path / "pkg.tar").status == 0
    with tarfile.open(tmp_path / "pkg.tar") as archive:
        members = archive.getmembers()
        content = {
            m.name.removeprefix("tiny/"): archive.extractfile(m).read()  # type: ignore[union-attr]
            for m in members
        }
    assert content == read_tree(tmp_path / "pkg")
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}


def test_compile_mlf_has_its_parts(tvmc, model: Path, tmp_path: Path) -> None:
    import tvm

    assert tvmc("compile", model, "-o", tmp_path / "m.tar", "-f", "mlf").status == 0
    with tarfile.open(tmp_path / "m.tar") as archive:
        names = set(archive.getnames())
        metadata = json.loads(archive.extractfile("metadata.json").read())  # type: ignore[union-attr]
        params = archive.extractfile("parameters/default.params").read()  # type: ignore[union-attr]
    assert {"codegen/host/model/model.c", "codegen/host/include/megcc.h"} <= names
    main = metadata["modules"]["default"]["memory"]["functions"]["main"][0]
    assert main["inputs"] == {"x:0": {"dtype": "f32", "shape": [2, 3], "size_bytes": 24}}
    loaded = tvm.runtime.load_param_dict(params)
    assert sum(t.numpy().nbytes for t in loaded.values()) == main["constants_size_bytes"] > 0


def test_compile_replaces_a_package(tvmc, model: Path, dynamic: Path, tmp_path: Path) -> None:
    out = tmp_path / "pkg"
    assert tvmc("compile", model, "-o", out).status == 0
    assert tvmc("compile", dynamic, "-o", out, "--input-shapes", "x:[4,3]").status == 0
    assert json.loads((out / "manifest.json").read_text())["name"] == "dynamic"
    assert [p.name for p in tmp_path.iterdir()] == ["pkg"]


@pytest.mark.slow
def test_compile_bin_weights(tvmc, model: Path, inputs: Path, tmp_path: Path) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "p.tar", "--weights", "bin").status == 0
    assert tvmc("run", tmp_path / "p.tar", "--inputs", inputs).status == 0


def test_compile_dumps_each_stage(tvmc, model: Path, tmp_path: Path) -> None:
    dump = tmp_path / "ir"
    assert tvmc("compile", model, "-o", tmp_path / "pkg", "--dump-ir", dump).status == 0
    names = sorted(path.name for path in dump.iterdir())
    assert names[0] == "00_imported.txt" and names[-1].endswith("_planned.txt")
    assert "R.matmul" in (dump / names[0]).read_text()
    assert "program 'tiny'" in (dump / names[-1]).read_text()
