"""`scripts/bench --tiny` writes two tables of MLPerf Tiny's networks on Cortex-M."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cortexm import board

from .test_scripts import load

bench = load("bench_tiny")


def figures(network: str, cpu: str, optimize: str, folder: Path) -> object:
    return bench.Row(network, cpu, optimize, 1_234_567, 1000, 2000, 300, 40_000)


def test_it_writes_its_tables_with_the_peers_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n")
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "measure", figures)
    assert bench.main(["--write"]) == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| CPU |  | kws | ic | vww | sww | ad |" in text
    assert "| cortex-m0plus | `size` | 1.235 | 1.235 | 1.235 | 1.235 | 1.235 |" in text
    assert "| cortex-m4 | TFLM | 7.9 | 34.27 | 24.64 | 2.26 | 0.583 |" in text
    assert "| sww | cortex-m55 | `speed` | 1,000 | 2,000 | 300 | 40,000 |" in text
    assert "| ad | cortex-m4 | TFLM | 2,580 | - | - | 305,600 |" in text
    assert "TFLM is TensorFlow Lite Micro 90b983c2 with CMSIS-NN 4ab83cc3" in text
    capsys.readouterr()
    with pytest.raises(SystemExit):
        bench.main(["kws", "--write"])
    assert "--write is for whole tables; leave networks and --cpu out" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        bench.main(["vgg"])
    assert "not known: vgg; choose from kws, ic, vww, sww, ad" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.skipif(bool(board.missing()), reason=board.missing() or "all is there")
def test_a_row_is_what_the_tables_and_inspect_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "MODES", {})
    assert bench.main(["ad", "--cpu", "cortex-m4", "--json", str(tmp_path / "rows.json")]) == 0
    assert "| ad | cortex-m4 | `speed` |" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    # 264,192 weights and 1,544 biases of four bytes; 640 bytes in and 640 out.
    assert row["flash"] > 264_192 + 4 * 1_544 and 0 < row["stack"] < 1_000
    assert row["ram"] > row["arena"] + 2 * 640
    known = bench.BOARDS.stored()
    if bench.BOARDS.compiler() == known.compiler:
        assert row["instructions"] == pytest.approx(known.counts["ad:cortex-m4"], rel=0.02)
