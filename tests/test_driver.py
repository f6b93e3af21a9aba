"""The driver writes whole outputs or none, whatever happens on the way."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.cli import tiny
from tvm_megcc import driver, execute
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import files, toolchain
from tvm_megcc.host.package import is_package
from tvm_megcc.memory import DoesNotFit
from tvm_megcc.memory_options import MemoryOptions

pytestmark = pytest.mark.together


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tiny.model(), tmp_path_factory.mktemp("model"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pkg", "pkg.tar", "m.so"])
def test_failure_while_writing_keeps_the_earlier_output(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    out = tmp_path / name
    driver.compile_model(model, out)
    before = files.read_tree(tmp_path)

    def disk_full(path: Path) -> BinaryIO:
        if path.name in ("megcc.h", name):
            raise OSError(28, "No space left on device")
        return real(path)

    real = files.create
    monkeypatch.setattr(files, "create", disk_full)
    with pytest.raises(InputError, match="No space left"):
        driver.compile_model(model, out)
    monkeypatch.undo()
    assert files.read_tree(tmp_path) == before


@pytest.mark.parametrize(("full", "said"), [("tmp", "or set TMPDIR"), ("out", "another place")])
def test_a_full_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str, said: str
) -> None:
    places = {name: tmp_path / name for name in ("tmp", "out")}
    for place in places.values():
        place.mkdir()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(places["tmp"]))
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: usage._replace(free=int(Path(path) != places[full]))
    )
    with (
        pytest.raises(InputError, match="No space left") as caught,
        files.replacing(places["out"] / "m.so"),
    ):
        raise OSError(28, "No space left on device")
    assert said in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_while_writing_keeps_the_earlier_output(
    model: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "pkg"
    driver.compile_model(model, out)
    before = files.read_tree(out)
    code = f"""
import os, sys
from tvm_megcc import cli
from tvm_megcc.host import files
real, count = files.create, 0
def create(path):
    global count
    count += 1
    if count == 5:
        os.kill(os.getpid(), {int(number)})
    return real(path)
files.create = create
sys.argv = ["tvmc", "compile", {str(model)!r}, "-o", {str(out)!r}]
sys.exit(cli.main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert files.read_tree(out) == before
    if number == signal.SIGTERM:
        assert done.returncode == 1 and done.stderr == (
            "tvmc: interrupted; nothing was left half-written\n"
        )
        assert [p.name for p in tmp_path.iterdir()] == ["pkg"]
    else:
        assert done.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_failing_compiler_keeps_the_earlier_library(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.compile_model(model, tmp_path / "m.so")
    before = files.read_tree(tmp_path)
    monkeypatch.setattr(toolchain, "find_compiler", lambda arch: "false")
    with pytest.raises(ToolError):
        driver.compile_model(model, tmp_path / "m.so")
    assert files.read_tree(tmp_path) == before


def test_exchange_falls_back_to_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.ctypes, "CDLL", lambda *a, **k: object())
    out = tmp_path / "out"
    files.write_directory({"a": "1"}, out, is_ours=lambda p: True)
    files.write_directory({"b": "2"}, out, is_ours=lambda p: True)
    assert files.read_tree(tmp_path) == {"out/b": b"2"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_written_files_have_the_usual_modes(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        files.write_directory({"a/b": "1"}, tmp_path / "out", is_ours=lambda p: True)
        files.write_file(b"1", tmp_path / "file")
    finally:
        os.umask(mask)
    modes = [stat.S_IMODE((tmp_path / p).stat().st_mode) for p in ("out", "out/a", "out/a/b")]
    assert modes == [0o755, 0o755, 0o644]
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_file(b"1", tmp_path / "pipe")
        assert os.read(end, 9) == b"1"
    finally:
        os.close(end)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_output_through_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    files.write_directory({"a": "1"}, tmp_path / "link", is_ours=lambda p: True)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "a").read_text() == "1"


def test_untar_refuses_to_leave_its_folder(tmp_path: Path) -> None:
    files.write_tar({"../evil": "1"}, tmp_path / "bad.tar")
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match="leads out"):
        files.untar(tmp_path / "bad.tar", tmp_path / "in")
    assert not (tmp_path / "evil").exists()


def test_compile_model_from_a_proto(tmp_path: Path) -> None:
    programs = driver.compile_model(tiny.model(), tmp_path / "pkg", archs=["portable"], name="net")
    assert programs["portable"].name == "net" and is_package(tmp_path / "pkg")


@pytest.mark.slow
def test_compile_model_with_an_awkward_name(tmp_path: Path) -> None:
    proto = tiny.model()
    proto.graph.name = "/a b/../3-c"
    for out in ("pkg", "p.tar", "m.so"):
        driver.compile_model(proto, tmp_path / out)
    for out in ("pkg", "p.tar", "m.so"):
        with execute.opened(tmp_path / out) as runnable:
            inputs, expected = tiny.example()
            got = runnable.run(inputs).outputs
        assert abs(got["sum"] - expected["sum"]) < 1e-5
    with tarfile.open(tmp_path / "p.tar") as archive:
        assert len({name.split("/")[0] for name in archive.getnames()}) == 1


def test_compile_model_does_not_read_the_place_it_writes_to(model: Path, tmp_path: Path) -> None:
    """Equal bytes wherever the package goes, whatever the current folder is."""
    a, b = tmp_path / "a", tmp_path / "b"
    driver.compile_model(model, a, archs=["armv7"])
    here = Path.cwd()
    try:
        os.chdir(tmp_path)
        driver.compile_model(os.path.relpath(model), "b", archs=["armv7"])
    finally:
        os.chdir(here)
    assert files.read_tree(a) == files.read_tree(b)
    assert str(tmp_path).encode() not in b"".join(files.read_tree(a).values())


def test_compile_model_that_does_not_fit_keeps_the_earlier_output(
    model: Path, tmp_path: Path
) -> None:
    programs = driver.compile_model(model, tmp_path / "pkg", archs=["portable"])
    before = files.read_tree(tmp_path)
    (need,) = (p.arena_bytes for p in programs.values())
    assert need
    with pytest.raises(DoesNotFit, match="bytes are missing") as caught:
        driver.compile_model(
            model, tmp_path / "pkg", archs=["portable"], memory=MemoryOptions(limit=need // 2)
        )
    assert caught.value.missing_bytes == need - need // 2
    assert files.read_tree(tmp_path) == before


def test_compile_programs_refuses_an_unknown_io(model: Path) -> None:
    with pytest.raises(InputError, match="io 'heap' is not known; choose from caller, arena"):
        driver.compile_programs(model, ["portable"], io="heap")
