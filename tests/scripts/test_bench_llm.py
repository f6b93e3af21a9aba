"""`scripts/bench --llm` writes three tables of a decoder, beside the peers of docs/peers.json."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import onnx
import pytest

from tvm_megcc import driver
from tvm_megcc.host import package

from .test_scripts import load, needs_cc

bench = load("bench_llm")
TINY = bench.llm_models.TINY

#: A llama-bench that takes as long as its runs say.
LLAMA = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -m) test -s "$2" || exit 1 ;; -r) runs=$2 ;; esac
  shift
done
i=0
while [ $i -lt $((runs * 20000)) ]; do i=$((i + 1)); done
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "language-models.md"
    marks = [bench.ARM_BEGIN, bench.ARM_END, bench.HOST_BEGIN, bench.HOST_END]
    marks += [bench.MEMORY_BEGIN, bench.MEMORY_END]
    path.write_text("before\n" + "\n".join(marks) + "\nafter\n")
    monkeypatch.setattr(bench, "PAGE", path)
    monkeypatch.setattr(bench, "DIMS", TINY)
    return path


def test_the_first_table_has_the_peers_figures(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "counts", lambda figure, *_: bench.Counted(figure, [8.04, 9.36]))
    assert bench.main(["--on", "arm", "--write"]) == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert "| M instructions | machine | ours | llama.cpp | ONNX Runtime | wanted |" in text
    want = (
        "| int4, a token, M | arm64+dotprod | 8.0 (9.4) | 11.7 (17.3) | 12.9 (17.9) | 8.5 (10.0) |"
    )
    assert want in text
    assert "| f16, a token, M | arm64+fp16 | 8.0 (9.4) | 54.2 | - | 7.5 (8.5) |" in text
    assert "| int4, prefill, per multiply-add | arm64+dotprod | 8.040 (9.360) | 0.126 |" in text


@pytest.mark.slow
@needs_cc
def test_runtimes_take_turns(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    program = tmp_path / "llama-bench"
    program.write_text(LLAMA)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(
        bench.llm_models, "write_gguf", lambda dims, form, path: path.write_text("GGUF")
    )
    words = ["int4", "--on", "host", "--rounds", "2", "--repeat", "2"]
    found = tmp_path / "rows.json"
    assert bench.main([*words, "--llama-bench", str(program), "--json", str(found)]) == 0
    rows = json.loads(found.read_text())["host"]
    assert [row["what"] for row in rows] == ["decode", "prefill"]
    for row in rows:
        assert list(row["rates"]) == ["ours", "llama.cpp", "ONNX Runtime"]
        assert all(len(turns) == 2 and min(turns) > 0 for turns in row["rates"].values())
    assert "int4, decode | " in capsys.readouterr().out
    assert bench.main([*words, "--llama-bench", str(tmp_path / "nothing")]) == 1
    assert "No such file or directory; give the path of llama-bench" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        bench.main(["int3"])
    assert "not known: int3; choose from f32, f16, int8, int4" in capsys.readouterr().err


@pytest.mark.slow
@needs_cc
def test_sizes_of_a_whole_model(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "LAYERS", 1)
    made = []
    load_package = package.load
    monkeypatch.setattr(bench.package, "load", lambda p: made.append(load_package(p)) or made[0])
    assert bench.main(["--on", "memory", "--write"]) == 0
    text = page.read_text()
    assert "| int4 | ours | wanted |" in text and "| CPU time of compiling | " in text
    assert "| memory of opening the package, beyond its mapped file | 0." in text
    assert (
        "64 tokens at once, with weights that are mapped, beyond them and caches of 256 rows"
        in text
    )
    (port,) = [p for p in made[0].outputs if p.name == "logits"]
    assert port.shape[1] == 1 and made[0].manifest["weights"] == "bin"


@pytest.mark.slow
@needs_cc
def test_weights_are_read_where_they_are_mapped(tmp_path: Path) -> None:
    """A token behind 2,047 others: nothing is packed at load, and little is in memory beyond."""
    models = bench.llm_models
    dims = models.Dims(layers=1, hidden=256, heads=4, kept_heads=2, inner=768, vocabulary=16384)
    onnx.save(models.built(dims, "int4"), tmp_path / "model.onnx")
    driver.compile_model(
        tmp_path / "model.onnx", tmp_path / "package", archs=["host"], states=models.STATES,
        logits="last", weights="bin",
    )  # fmt: skip
    given = models.step(dims, "int4", dims.context - 1, 1, dims.context)
    found = bench.resident(tmp_path / "package", given)
    (image,) = (tmp_path / "package" / "model").glob("*.bin")
    assert image.stat().st_size > 2_500_000 and found.weights > 0.9 * image.stat().st_size
    assert found.states == 2 * 2048 * dims.kept_heads * dims.head * 4
    assert found.opening < 200_000, "weights are copied when the package is opened"
    assert found.beyond < 4_000_000, "the whole process beside weights and caches"


def test_gguf_of_the_same_dims(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    bench.llm_models.write_gguf(TINY, "int4", tmp_path / "m.gguf")
    read = gguf.GGUFReader(tmp_path / "m.gguf")
    shapes = {t.name: (t.tensor_type.name, list(t.shape)) for t in read.tensors}
    assert shapes["token_embd.weight"] == ("Q4_0", [64, 160])
    assert shapes["blk.1.ffn_down.weight"] == ("Q4_0", [96, 64])
    assert len(shapes) == 2 + 9 * TINY.layers
