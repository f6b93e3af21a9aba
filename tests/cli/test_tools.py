"""``tvmc inspect``, ``opt``, ``kernels``, and the command line as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_megcc.cli import options


def test_inspect_json(tvmc, package: Path) -> None:
    facts = json.loads(tvmc("inspect", package, "--json").out)
    assert facts["name"] == "tiny"
    assert facts["inputs"] == [{"name": "x:0", "dtype": "f32", "shape": [2, 3], "bytes": 24}]
    assert [p["name"] for p in facts["outputs"]] == ["y/0", "sum"]
    (arch,) = facts["archs"].values()
    assert arch["weight_bytes"] >= 48 and arch["calls"] >= 2
    assert len(arch["kernels"]) >= 1 and arch["arena_bytes"] >= 0


def test_inspect_text(tvmc, package: Path) -> None:
    out = tvmc("inspect", package).out
    assert "input   x:0: f32[2, 3]" in out and "arena bytes" in out and "megcc_" in out


def test_opt_shows_stages(tvmc, model: Path) -> None:
    out = tvmc("opt", model).out
    assert "imported" in out and "R.matmul" in out and "planned" in out
    text = tvmc("opt", model, "--print", "planned").out
    assert text.startswith("program 'tiny'")
    assert "no stage 'nope'" in tvmc("opt", model, "--print", "nope").sentence()


def test_kernels_list(tvmc) -> None:
    out = tvmc("kernels").out
    assert out.splitlines()[0].split() == ["op", "kernel", "rank", "dtype", "arch", "isa", "when"]
    only = tvmc("kernels", "conv2d", "--arch", "arm64").out.splitlines()[1:]
    assert only and all(line.startswith("conv2d ") and "x86" not in line.split() for line in only)


def test_kernels_explain(tvmc) -> None:
    facts = ["dtype=f32", "g=1", "ic=8", "oc=8", "kh=3", "kw=3"]
    out = tvmc("kernels", "conv2d", "--arch", "portable", "--explain", *facts).out
    assert sum(": chosen" in line for line in out.splitlines()) == 1
    assert "outranked by" in out
    strides = ("n=1", "h=8", "w=8", "oh=8", "ow=8", "sh=1", "sw=1", "dh=1", "dw=1")
    costs = tvmc("kernels", "conv2d", "--arch", "portable", "--explain", *facts, *strides).out
    assert "conv2d_nhwc_f32_gemm (rank 10): chosen, about" in costs
    assert "_winograd4 (rank 10): alternative, about" in costs and "not with --exact" in costs
    typed = tvmc("kernels", "conv2d", "--explain", "g=1", "w=i8").out
    assert "conv2d_nhwc_f32_ref (rank 0): takes w=f32, not i8" in typed
    assert "as in g=1" in tvmc("kernels", "conv2d", "--explain", "kh=3").sentence()
    assert "'f' is no fact and no operand" in tvmc("kernels", "pad", "--explain", "f=1").sentence()
    assert "FACT=VALUE" in tvmc("kernels", "conv2d", "--explain", "kh").sentence()
    assert "name the operator" in tvmc("kernels", "--explain").sentence()
    assert "frob" in tvmc("kernels", "frob").sentence()


def test_help_does_not_load_tvm() -> None:
    code = (
        "import sys\nfrom tvm_megcc.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "sys.exit('tvm' in sys.modules or 'numpy' in sys.modules or 'onnx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "compile" in done.stdout, done.stderr


def test_module_is_the_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tvm_megcc", "inspect", str(tmp_path / "no")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("tvmc: ") and len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_libraries_do_not_write_to_standard_error(tmp_path: Path) -> None:
    code = (
        "import os, sys, warnings\nfrom tvm_megcc import cli\n"
        "def run(args):\n"
        "    os.write(2, b'[12:00:00] a.cc:1: Warning: noise\\n')\n"
        "    warnings.warn('noise')\n"
        "    raise cli.MegccError('the sentence')\n"
        "cli.inspect.run = run\n"
        "sys.exit(cli.main())\n"
    )
    command = [sys.executable, "-c", code, "inspect", "x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "tvmc: the sentence\n")
    done = subprocess.run([*command, "--verbose"], capture_output=True, text=True)
    assert done.stderr.count("noise") >= 2 and "Traceback" in done.stderr


def test_wrong_usage_is_status_2(tvmc) -> None:
    for args in ([], ["compile"], ["run", "x", "--repeat", "0"], ["frobnicate"]):
        with pytest.raises(SystemExit) as exit:
            tvmc(*args)
        assert exit.value.code == 2


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x:[1,3,224,224] y:[-1,80]", {"x": (1, 3, 224, 224), "y": (-1, 80)}),
        ("in:0:[ 2 , 3 ],a/b.c:[]", {"in:0": (2, 3), "a/b.c": ()}),
        ("x:[?,height]", {"x": (-1, "height")}),
        ("x : [4]", {"x": (4,)}),
        ("", {}),
    ],
)
def test_input_shapes(text: str, shapes: dict[str, tuple[int | str, ...]]) -> None:
    assert options.shapes(text) == shapes
