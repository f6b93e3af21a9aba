"""What people try first: forms of the command line, interrupts, tools that fail."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import tvm_megcc
from tvm_megcc import zoo
from tvm_megcc.cli import main, options
from tvm_megcc.errors import ToolError
from tvm_megcc.host import files, toolchain


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tvmc of tvm_megcc {tvm_megcc.__version__}\n"


def test_verbose_before_and_after_the_command(tvmc: Callable, tmp_path: Path) -> None:
    for args in (("-v", "inspect", tmp_path / "no"), ("inspect", tmp_path / "no", "-v")):
        assert "Traceback" in tvmc(*args).err
    assert "Traceback" not in tvmc("inspect", tmp_path / "no").err


def test_a_model_on_standard_input(
    tvmc: Callable, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    given(model.read_bytes())
    assert tvmc("compile", "-", "-o", tmp_path / "pkg").status == 0
    assert (tmp_path / "pkg" / "manifest.json").is_file()
    given(model.read_bytes())
    assert "canonicalise" in tvmc("opt", "-").out
    given(b"no model")
    assert "standard input: not an ONNX model" in tvmc("compile", "-", "-o", "p").sentence()


def test_a_tar_by_its_format(tvmc: Callable, model: Path, tmp_path: Path) -> None:
    for name, args in (("a.tar", ["-f", "tar"]), ("b.tar", [])):
        assert tvmc("compile", model, "-o", tmp_path / name, *args).status == 0
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


@pytest.mark.parametrize(
    "target",
    [
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76",
        '{"tag": "tvm_megcc", "mcpu": "cortex-a76"}',
        "tvm_megcc -mcpu=cortex-a76",
        "arm64+dotprod+fp16",
        "cortex-a76",
    ],
)
def test_targets_as_python_and_tvmc_write_them(
    tvmc: Callable, model: Path, tmp_path: Path, target: str
) -> None:
    ran = tvmc("compile", model, "-o", tmp_path / "pkg", "--target", target)
    assert ran.status == 0 and "arm64+dotprod+fp16 (" in ran.out, ran


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--desired-layout", "NHWC", "layouts are chosen"),
        ("--opt-level", "3", "--optimize"),
        ("--disabled-pass", "FuseOps", "tvmc opt"),
    ],
)
def test_options_that_are_not_needed(
    capsys: pytest.CaptureFixture[str], option: str, value: str, words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compile", "m.onnx", "-o", "p", option, value])
    assert ended.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.slow
def test_a_compiler_of_the_users(tvmc: Callable, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.so"
    assert tvmc("compile", model, "-o", out, "--cc", "gcc -fno-plt").status == 0
    sentence = tvmc("compile", model, "-o", out, "--cross-compiler", "no-such-gcc").sentence()
    assert "no-such-gcc" in sentence and out.is_file()
    package = tmp_path / "p"
    assert tvmc("compile", model, "-o", package).status == 0
    assert tvmc("run", package, "--cc", "gcc -O1").status == 0
    assert "no-such-gcc" in tvmc("run", package, "--cc", "no-such-gcc").sentence()


def test_a_library_has_its_weights_inside(tvmc: Callable, model: Path, tmp_path: Path) -> None:
    ran = tvmc("compile", model, "-o", tmp_path / "x.so", "--weights", "bin")
    assert "leave out --weights bin" in ran.sentence()


def test_a_failing_build_is_a_sentence_and_verbose_shows_all(
    tvmc: Callable, model: Path, tmp_path: Path
) -> None:
    package = tmp_path / "p"
    assert tvmc("compile", model, "-o", package).status == 0
    (package / "main.c").write_text("#include <stdio.h>\nint main(void) { return nowhere; }\n")
    sentence = tvmc("run", package).sentence()
    assert "main.c:2:" in sentence and "nowhere" in sentence and "--verbose" in sentence
    assert "each undeclared identifier" in tvmc("-v", "run", package).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cc -c a.c\na.c:1: error: expected ';'\nmake: *** Error 1", "a.c:1: error: expected ';'"),
        ("x.s: Fatal error: can't write: 'No space left on device'\nmake: Error", "TMPDIR"),
        ("ld: a.o: undefined reference to `f'\nmake: Error 1", "undefined reference to `f'"),
        ("strange\nwords\n", "words"),
    ],
)
def test_what_a_tool_says_is_one_line_of_it(words: str, said: str) -> None:
    error = toolchain.failure("building", words)
    assert isinstance(error, ToolError) and error.words == words
    assert said in str(error) and "\n" not in str(error)


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "out.bin"
    with files.replacing(out) as fresh:
        fresh.write_bytes(b"1")
        abandoned, young, other = (
            tmp_path / name for name in (".out.bin.a.part", ".out.bin.b.part", ".other.c.part")
        )
        for path in (abandoned, young, other):
            path.mkdir()
        for path in (fresh.parent, abandoned, other):
            os.utime(path, (1, 1))
        files.write_file(b"2", out)  # beside one that is at work
        assert fresh.is_file() and young.is_dir() and other.is_dir()
        assert not abandoned.exists()
    assert out.read_bytes() == b"1"


def test_a_place_that_takes_nothing(tvmc: Callable, model: Path) -> None:
    if not os.access("/proc", os.W_OK):
        pytest.skip("/proc is not root's here")
    sentence = tvmc("compile", model, "-o", "/proc/p").sentence()
    assert "choose another place" in sentence and "room" not in sentence


def test_an_interrupt_inside_tvm_is_no_internal_error(model: Path, tmp_path: Path) -> None:
    """TVM turns what a signal's handler raises inside its calls into an error of its own."""
    script = (
        "import os, signal\n"
        "from tvm_megcc import cli, driver\n"
        "def interrupted(*args, **kwargs):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        signal.pause()\n"
        "    except KeyboardInterrupt:\n"
        "        raise RuntimeError from None\n"
        "driver.compile_model = interrupted\n"
        "raise SystemExit(cli.main())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "compile", str(model), "-o", str(tmp_path / "p")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (
        1, "tvmc: interrupted; nothing was left half-written\n"
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_compiling(tmp_path: Path, number: signal.Signals) -> None:
    model, out = tmp_path / "m.onnx", tmp_path / "p"
    onnx.save(zoo.build("mobilenet_v1"), model)
    command = [sys.executable, "-m", "tvm_megcc", "compile", str(model), "-o", str(out)]
    for seconds in (0.7, 1.5):
        started = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            _, said = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            started.send_signal(number)
            _, said = started.communicate()
        assert "internal error" not in said
        assert started.returncode in (0, 1, -number), said
        assert not list(tmp_path.glob(".p.*"))


def test_an_interrupt_of_a_text_that_is_run(tmp_path: Path) -> None:
    """As modules that are loaded make their dataclasses: Python would end by SIGINT."""
    (tmp_path / "interrupted.py").write_text("""
import sys
from tvm_megcc import cli

cli.COMMANDS["kernels"].run = lambda args: exec("raise KeyboardInterrupt", {})
sys.exit(cli.main(["kernels"]))
""")
    ran = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (
        1, "tvmc: interrupted; nothing was left half-written\n"
    )  # fmt: skip


def test_progress_says_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with options.progress() as tell:
        assert tell is not None
        tell("build for arm64: 3 of 20 files")
    assert "s] build for arm64: 3 of 20 files" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with options.progress() as tell:
        assert tell is None
