"""The scripts a newcomer runs first: what they say where tools are missing, and that they work."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tvm_megcc import zoo
from tvm_megcc.host import toolchain

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [ROOT / ".ci" / "run"] + [
    p
    for p in sorted((ROOT / "scripts").iterdir())
    if p.is_file() and p.read_text().startswith("#!/usr/bin/env bash")
]

needs_cc = pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("cc")), reason="needs make and cc"
)


def bash(code: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run bash with scripts/setup.sh sourced and, if given, another PATH."""
    return subprocess.run(
        ["bash", "-c", f'. "{ROOT}/scripts/setup.sh"\n{f"PATH={path}" if path else ""}\n{code}'],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def load(name: str):
    """A script's Python part as a module."""
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@needs_cc
def test_bench_threads_writes_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    bench = load("bench_threads")
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n")
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "MODELS", ("tiny_cnn",))
    assert bench.main(["--rounds", "1", "--repeat", "2", "--threads", "3", "--write"]) == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| model | 1 thread | 3 threads |" in text and "| tiny_cnn | " in text
    assert bench.main(["missing_model"]) == 1
    assert "missing_model" in capsys.readouterr().err


@pytest.mark.slow
@needs_cc
def test_bench_peers_writes_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    bench = load("bench_peers")
    page, figures = tmp_path / "performance.md", tmp_path / "peers.json"
    page.write_text(
        f"{bench.ROWS_BEGIN}\n{bench.ROWS_END}\n{bench.CORPUS_BEGIN}\n{bench.CORPUS_END}\n"
    )
    model = tmp_path / "models" / "tiny" / "model.onnx"
    model.parent.mkdir(parents=True)
    onnx.save(zoo.build("tiny_mlp"), model)
    shape = list(zoo.build("tiny_mlp").graph.input[0].type.tensor_type.shape.dim)
    sizes = {"input": [d.dim_value for d in shape]}
    entry = {"name": "tiny", "cases": [{"input_shapes": sizes}]}
    (tmp_path / "models" / "INDEX.json").write_text(json.dumps([entry]))
    arm = {"arch": "arm64", "cpu": "cortex-a57", "peer": "ncnn", "best": 2, "wanted": 1.8}
    rows = [{"model": "tiny_mlp", **more} for more in ({"arch": "x86", "wanted": 0.9}, arm)]
    figures.write_text(json.dumps({"rows": rows}))
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "FIGURES", figures)
    monkeypatch.setattr(bench, "PEERS", ("onnxruntime", "a_runtime_that_is_not_there"))
    monkeypatch.setattr(bench, "PEER_PYTHON", Path(sys.executable))
    counted = bench.Counted(1.25, 30.5, 2.0)  # test_count_instructions.py counts
    monkeypatch.setattr(bench, "count", lambda *_: counted)
    quick = ["--rounds", "2", "--repeat", "2", "--write", "--shared", str(tmp_path)]
    bench.ROWS.write(["tiny_mlp", "x86", "of an earlier commit"], [("tiny_mlp", "x86")])
    assert "earlier" in page.read_text()
    assert bench.main(quick) == 0
    assert bench.main(["--corpus", *quick]) == 0
    text = page.read_text()
    head = "| model | machine | speed | balanced | size | loaded | stored | best peer |"
    assert head in text
    assert "| tiny_mlp | arm64 | 1.25 M | 1.25 M | 1.25 M | 30.50 MB | 2.00 MB | ncnn 2 M |" in text
    assert text.count("| tiny_mlp | x86 | ") == 1 and "onnxruntime" in text
    assert "| tiny | 1.25 M | 30.50 MB | 2.00 MB | " in text and "earlier" not in text
    assert "a_runtime_that_is_not_there does not run tiny_mlp" in capsys.readouterr().out


@pytest.mark.slow
@needs_cc
def test_bench_byoc_writes_its_table(tmp_path: Path) -> None:
    """In a process of its own: it sets TVM's number of threads before TVM is imported."""
    page = tmp_path / "performance.md"
    page.write_text(
        "before\n<!-- Written by scripts/bench_byoc.py: begin -->\nold\n"
        "<!-- end of regions -->\nafter\n"
    )
    code = (
        "import sys, bench_byoc; from pathlib import Path; "
        f"bench_byoc.PAGE = Path({str(page)!r}); "
        "sys.argv = ['bench_byoc', 'tiny_cnn', '--rounds', '1', '--write']; "
        "sys.exit(bench_byoc.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| tiny_cnn | 1 | 100 % | " in text


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with little more than a shell's own needs: no compiler, no qemu, not root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("bash", "cat", "python3"):
        (folder / tool).symlink_to(shutil.which(tool))
    (folder / "id").write_text("#!/bin/bash\necho 1000\n")
    (folder / "id").chmod(0o755)
    return folder


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_scripts_are_executable_and_parse(script):
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script]).returncode == 0


def test_scripts_ci_runs_what_everybody_runs():
    assert 'scripts/test" </dev/null' in (ROOT / ".ci" / "run").read_text()


def test_scripts_name_the_packages_of_missing_tools(bare_path):
    said = bash("missing_packages make cc arm64 armv7 qemu clang", str(bare_path)).stdout.split()
    assert said == [
        "make", "gcc", "libc6-dev", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross",
        "gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross", "qemu-user", "clang",
        "libclang-rt-dev",
    ]  # fmt: skip


def test_scripts_without_root_say_what_to_install_and_fail(bare_path):
    done = bash("install make qemu", str(bare_path))
    assert done.returncode == 1
    assert done.stderr == "missing: apt install --no-install-recommends make qemu-user\n"


def test_scripts_a_compiler_without_headers_counts_as_missing(bare_path):
    (bare_path / "cc").write_text("#!/bin/bash\ncat >/dev/null; exit 1\n")
    (bare_path / "cc").chmod(0o755)
    assert bash("missing_packages cc", str(bare_path)).stdout == "gcc libc6-dev\n"


def test_scripts_as_root_install_what_is_missing(bare_path, tmp_path):
    (bare_path / "id").write_text("#!/bin/bash\necho 0\n")
    (bare_path / "apt-get").write_text(f'#!/bin/bash\necho "$@" >>{tmp_path}/log\n')
    (bare_path / "apt-get").chmod(0o755)
    assert bash("install qemu", str(bare_path)).returncode == 0
    assert (tmp_path / "log").read_text().splitlines() == [
        "-qq update",
        "-qq -y --no-install-recommends install qemu-user",
    ]


def test_scripts_install_is_silent_when_nothing_is_missing(bare_path):
    done = bash("install cat bash", str(bare_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@needs_cc
def test_scripts_demo_reports_every_figure(tmp_path, capsys):
    model = tmp_path / "m.onnx"
    model.write_bytes(zoo.build("tiny_residual").SerializeToString())
    demo = load("demo")
    assert demo.main([str(model), "--arch", "host", "--out", str(tmp_path), "--repeat", "3"]) == 0
    said = capsys.readouterr().out
    for words in [
        "output 'output' float32[1, 10], largest at",
        "latency  min",
        "of 3 runs",
        "arena ",
        "weights and program ",
        "machine code ",
        "Largest difference from",
    ]:
        assert words in said, words


@needs_cc
def test_scripts_demo_goes_on_without_a_cross_compiler(tmp_path, capsys, monkeypatch):
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda n, **k: None if "aarch64" in n else which(n, **k))
    if toolchain.is_native("arm64"):
        pytest.skip("arm64 is this machine's own architecture")
    model = tmp_path / "m.onnx"
    model.write_bytes(zoo.build("tiny_mlp").SerializeToString())
    demo = load("demo")
    assert demo.main([str(model), "--arch", "arm64,host", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "arm64: not run: " in said and "apt install gcc-aarch64-linux-gnu" in said
    assert "latency  min" in said


def test_scripts_demo_bad_model_is_one_sentence(tmp_path, capsys):
    model = tmp_path / "not.onnx"
    model.write_text("not a model")
    assert load("demo").main([str(model), "--arch", "host", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("scripts/demo: ") and len(said.err.splitlines()) == 1


def test_scripts_demo_sees_a_wrong_answer(capsys):
    demo = load("demo")

    def result(value: float):
        return demo.Result({"y": np.float32([value, 1])}, (), 0, 0, 0, 0.0, 0.0)

    want = {"y": np.float32([0.5, 1])}
    assert demo.show_differences("r", want, {"host": result(0.50001)})
    assert not demo.show_differences("r", want, {"host": result(0.6)})


@pytest.mark.slow
@needs_cc
def test_scripts_bench_writes_its_numbers(tmp_path, capsys):
    out = tmp_path / "bench.json"
    arguments = ["tiny_cnn", "--arch", "host", "--repeat", "2", "--rounds", "2"]
    assert load("bench").main([*arguments, "--json", str(out)]) == 0
    (row,) = json.loads(out.read_text())
    assert len(row["ours_ms"]) == 4 and min(row["ours_ms"]) > 0
    assert row["relative_difference"] is None or row["relative_difference"] < 1e-4
    assert "tiny_cnn" in capsys.readouterr().out


def test_scripts_bench_unknown_model_is_one_sentence(capsys):
    assert load("bench").main(["alexnet"]) == 1
    assert "neither a file nor one of" in capsys.readouterr().err
