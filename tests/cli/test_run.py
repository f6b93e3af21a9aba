"""``tvmc run``: every form of output gives the model's numbers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli import tiny
from tvm_megcc.host.files import read_tree

CROSS = {
    "arm64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armv7": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
}


def outputs_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as npz:
        return {name: npz[name] for name in npz.files}


def assert_example(path: Path) -> None:
    _, expected = tiny.example()
    got = outputs_of(path)
    assert list(got) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-6, atol=1e-6)
        assert got[name].shape == value.shape


def test_run_package(tvmc, package: Path, inputs: Path, tmp_path: Path) -> None:
    before = read_tree(package)
    ran = tvmc("run", package, "--inputs", inputs, "--outputs", tmp_path / "out.npz")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert_example(tmp_path / "out.npz")
    assert read_tree(package) == before


@pytest.mark.parametrize("fmt", ["c", "mlf"])
def test_run_tar(tvmc, model: Path, inputs: Path, tmp_path: Path, fmt: str) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "p.tar", "-f", fmt).status == 0
    out = tmp_path / "out.npz"
    assert tvmc("run", tmp_path / "p.tar", "--inputs", inputs, "--outputs", out).status == 0
    assert_example(out)


def test_run_library_gives_the_numbers_of_the_package(
    tvmc, package: Path, library: Path, tmp_path: Path
) -> None:
    for path, out in ((package, "a.npz"), (library, "b.npz")):
        assert tvmc("run", path, "--outputs", tmp_path / out).status == 0
    a, b = outputs_of(tmp_path / "a.npz"), outputs_of(tmp_path / "b.npz")
    assert list(a) == list(b) and any(np.any(v != 0) for v in a.values())
    for name in a:
        assert a[name].tobytes() == b[name].tobytes()


@pytest.mark.emulator
@pytest.mark.parametrize("arch", ["arm64", "armv7"])
def test_run_arm_under_qemu(tvmc, model: Path, inputs: Path, tmp_path: Path, arch: str) -> None:
    for tool in CROSS[arch]:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    assert tvmc("compile", model, "-o", tmp_path / "p", "--arch", f"host,{arch}").status == 0
    out = tmp_path / "out.npz"
    ran = tvmc(
        "run", tmp_path / "p", "--inputs", inputs, "--outputs", out, "--arch", arch, "--print-time"
    )
    assert ran.status == 0 and ran.out.startswith(f"{arch}: min") and "qemu" in ran.out
    assert_example(out)


@pytest.mark.slow
def test_run_builds_once(tvmc, package: Path, tmp_path: Path, monkeypatch) -> None:
    from tvm_megcc.host import toolchain

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tvmc("run", package).status == 0

    def build(*args: object, **options: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(toolchain, "build", build)
    assert tvmc("run", package).status == 0
    assert "built again" in tvmc("run", package, "--cc", "gcc -O1").err, "another program"


@pytest.mark.slow
def test_run_of_a_dropped_program(tvmc, package: Path, tmp_path: Path, monkeypatch) -> None:
    """The cache keeps the latest programs only: another process may drop one that is to run."""
    from tvm_megcc import execute

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    programs = tmp_path / "tvm_megcc" / "programs"
    assert tvmc("run", package).status == 0
    with execute.opened(package) as runner:
        shutil.rmtree(next(programs.glob("[!.]*")))
        outputs = runner.run({"x:0": np.zeros((2, 3), np.float32)}).outputs
        assert not any(np.any(output) for output in outputs.values())
    assert not list(programs.iterdir()), "nothing is left behind"

    def gone(*args: object, **options: object) -> None:
        raise FileNotFoundError("dropped")

    assert tvmc("run", package).status == 0
    monkeypatch.setattr(shutil, "copytree", gone)
    assert tvmc("run", package).status == 0, "dropped before it was held: built again"


@pytest.mark.slow
def test_run_with_a_cache_of_others(tvmc, package: Path, tmp_path: Path, monkeypatch) -> None:
    """What others can write is not run."""
    (tmp_path / "tvm_megcc").mkdir()
    (tmp_path / "tvm_megcc").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tvmc("run", package).status == 0
    assert not list(tmp_path.rglob("run"))


@pytest.mark.slow
def test_run_ignores_flags_of_the_shell(tvmc, package: Path, tmp_path: Path, monkeypatch) -> None:
    """What is timed is what the package says; other flags are named: --cc 'gcc -g'."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("CFLAGS", "CPPFLAGS", "LDFLAGS", "EXTRA_CFLAGS", "MAKEFLAGS", "OPT", "THREADS"):
        monkeypatch.setenv(name, "-flag-of-the-shell")
    assert tvmc("run", package).status == 0
    assert len(list((tmp_path / "tvm_megcc").rglob("run"))) == 1
    for name in ("CFLAGS", "CPPFLAGS", "LDFLAGS", "EXTRA_CFLAGS", "MAKEFLAGS", "OPT", "THREADS"):
        monkeypatch.setenv(name, "-another-flag")
    assert tvmc("bench", package, "--repeat", "2").status == 0
    assert len(list((tmp_path / "tvm_megcc").rglob("run"))) == 1
    ran = tvmc("run", package, "--cc", "gcc -flag-of-the-user")
    assert ran.status == 1 and "-flag-of-the-user" in ran.err


@pytest.mark.slow
def test_run_without_a_cache(tvmc, package: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("CCACHE_DISABLE", "1")  # where it stands for the compiler, it wants a cache
    assert tvmc("run", package).status == 0


@pytest.mark.slow
def test_run_portable_on_the_host(tvmc, model: Path, inputs: Path, tmp_path: Path) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "p", "--arch", "portable").status == 0
    for arch in ([], ["--arch", "host"], ["--arch", "portable"]):
        args = ["--inputs", inputs, "--outputs", tmp_path / "out.npz", *arch]
        assert tvmc("run", tmp_path / "p", *args).status == 0
        assert_example(tmp_path / "out.npz")


def test_run_writes_equal_bytes_twice(tvmc, package: Path, tmp_path: Path) -> None:
    for out in ("a.npz", "b.npz"):
        assert tvmc("run", package, "--outputs", tmp_path / out).status == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_run_threads_are_for_packages(tvmc, package: Path, inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    args = ["--inputs", inputs, "--outputs", out, "--threads", 3]
    assert tvmc("run", package, *args).status == 0
    assert_example(out)
    failed = tvmc("run", tmp_path / "model.so", "--threads", 2)
    assert failed.status == 1 and "run the package (-f c) instead" in failed.err


@pytest.mark.slow
def test_run_prints_time_profile_and_top(tvmc, package: Path, inputs: Path) -> None:
    ran = tvmc(
        "run", package, "--inputs", inputs, "--print-time", "--repeat", 5, "--profile",
        "--print-top", 2,
    )  # fmt: skip
    assert re.search(r"min [\d.]+ ms, median [\d.]+ ms, 5 runs", ran.out)
    assert re.search(r"^profile: \d+ calls, mean of 5 runs", ran.out, re.M)
    assert "y/0: float32[2, 4]\n  [0, 3] 3.5\n  [0, 2] 3\nsum: float32[]\n  [] 12.375" in ran.out


def test_run_fill_modes(tvmc, package: Path, tmp_path: Path) -> None:
    for mode, value in (("zeros", 0.0), ("ones", 1.0)):
        out = tmp_path / f"{mode}.npz"
        assert tvmc("run", package, "--fill-mode", mode, "--outputs", out).status == 0
        y = np.maximum(np.full((2, 3), value, np.float32) @ tiny.WEIGHT, 0)
        np.testing.assert_allclose(outputs_of(out)["y/0"], y, rtol=1e-6)


def test_run_scalar_and_integer_inputs(tvmc, dynamic: Path, tmp_path: Path) -> None:
    shapes = ["--input-shapes", "x:[4,3] n:[]"]
    assert tvmc("compile", dynamic, "-o", tmp_path / "p", *shapes).status == 0
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.savez(tmp_path / "in.npz", x=x, n=np.int64(-3))
    out = tmp_path / "out.npz"
    args = ["--inputs", tmp_path / "in.npz", "--outputs", out]
    assert tvmc("run", tmp_path / "p", *args).status == 0
    np.testing.assert_array_equal(outputs_of(out)["y"], x - 3)


def test_run_beside_what_is_expected(tvmc, package: Path, inputs: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "wanted.npz"
    run = ("run", package, "--inputs", inputs)
    assert tvmc(*run, "--outputs", wanted).status == 0
    arrays = outputs_of(wanted)
    ran = tvmc(*run, "--expected", wanted)
    assert ran.status == 0 and ran.out.count("largest difference 0") == len(arrays)
    np.savez(wanted, **{"y/0": arrays["y/0"] + 0.5})
    ran = tvmc(*run, "--expected", wanted)
    assert "beyond the tolerance: 'y/0'; tvmc compare MODEL" in ran.sentence()
    assert "BEYOND" in ran.out and "'sum': the reference has no such value" in ran.out
    assert tvmc(*run, "--expected", wanted, "--atol", 0.6).status == 0
    np.savez(wanted, z=arrays["y/0"])
    assert "has 'z', the outputs are 'y/0'" in tvmc(*run, "--expected", wanted).sentence()


def test_a_compiler_that_is_not_there(tvmc, package: Path, tmp_path: Path) -> None:
    said = tvmc("run", package, "--cc", "no-such-cc -O1").sentence()
    assert said == "tvmc: there is no C compiler 'no-such-cc'; name one that is installed"
