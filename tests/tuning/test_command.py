"""`tvmc tune` and `tvmc compile --tuning-records`, measuring for real."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from tests.cli.conftest import Ran
from tvm_megcc import driver, relay, zoo
from tvm_megcc.cli import main
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host.package import load
from tvm_megcc.tuning.records import apply_best, read

needs_arm = pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs a cross compiler and qemu",
)


@pytest.fixture
def tvmc(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run(*args: object) -> Ran:
        capsys.readouterr()
        status = main([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "mlp.onnx"
    onnx.save(zoo.build("tiny_mlp"), path)
    return path


@pytest.mark.emulator
@pytest.mark.slow
@needs_arm
def test_tune_by_instructions(tvmc, model: Path, tmp_path: Path) -> None:
    """It finds the usual kernels best here; in a pipe there is no progress."""
    path = tmp_path / "r.json"
    ran = tvmc("tune", model, "-o", path, "--arch", "arm64")
    assert ran.status == 0 and not ran.err, ran.err
    head, *rows, count, whole = ran.out.splitlines()
    assert head.split() == ["operator", "sizes", "worst", "default", "best"] and rows
    assert "new records from" in count and "the whole model: " in whole
    records = read(path).records
    assert {r.unit for r in records} == {"instructions"} and all(r.cost for r in records)
    assert {r.task.machine for r in records} == {"arm64"}
    untuned = driver.compile_programs(model, ["arm64"])["arm64"]
    with apply_best(path):
        tuned = driver.compile_programs(model, ["arm64"])["arm64"]
    assert tuned.calls == untuned.calls and tuned.kernels == untuned.kernels
    assert tuned.spending.calls > untuned.spending.calls == 0


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("make") and shutil.which("cc")), reason="needs make and cc")
def test_tune_by_time_on_this_machine(tvmc, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ran = tvmc("tune", model, "-o", path, "--trials", "1")
    assert ran.status == 0, ran.err
    assert {r.unit for r in read(path).records} == {"ns"}
    assert {r.device for r in read(path).records} == {"local"}
    mod, params = relay.frontend.from_onnx(onnx.load(model))
    relay.build(mod, params=params, tuning_records=path).save(tmp_path / "p")
    assert load(tmp_path / "p").archs == (host_arch(),)
    with pytest.warns(UserWarning, match="no record is for armv7, only for"):
        relay.build(mod, "armv7", params=params, tuning_records=[path])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--arch", "arm64", "--measure", "time"), "does not run arm64 itself"),
        (("--arch", "x86", "--measure", "instructions"), "counted for Arm only, not for x86"),
        (("--arch", "arm64,armv7"), "one machine at a time, not arm64, armv7"),
        (("--tuning-records", "nowhere.json", "--arch", "arm64"), "'nowhere.json': No such file"),
        pytest.param(
            ("--rpc-tracker", "127.0.0.1:1", "--rpc-key", "k"),
            "no RPC tracker at 127.0.0.1:1 ([",
            marks=pytest.mark.network,
        ),
        (("--rpc-key", "k"), "give --rpc-tracker and --rpc-key"),
        (("--rpc-tracker", "desk", "--rpc-key", "k"), "'desk' is no HOST:PORT"),
    ],
)
def test_tune_says_what_cannot_be(tvmc, model: Path, tmp_path: Path, more, said: str) -> None:
    if "time" in more and host_arch().startswith("arm64"):
        pytest.skip("this machine is one")
    ran = tvmc("tune", model, "-o", tmp_path / "r.json", *more)
    assert said in ran.sentence()
    assert not (tmp_path / "r.json").exists()


def test_compile_says_which_records_are_of_no_use(tvmc, model: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("")
    ran = tvmc("compile", model, "-o", tmp_path / "p", "--tuning-records", tmp_path / "r.json")
    assert ran.status == 0 and ran.err.count("\n") == 1
    assert "no record is for" in ran.err and "only for nothing" in ran.err
    (tmp_path / "r.json").write_text("what?\n")
    ran = tvmc("compile", model, "-o", tmp_path / "q", "--tuning-records", tmp_path / "r.json")
    assert "holds no records; tvmc tune writes" in ran.sentence()
