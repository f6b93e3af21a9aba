"""scripts/tuning_table.py: what it keeps of a model, and the page it writes."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location(
        "tuning_table", ROOT / "scripts" / "tuning_table.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tuning_table"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.mark.emulator
@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs a cross compiler and qemu",
)
def test_table_tunes_a_model(script: ModuleType, tmp_path: Path) -> None:
    budget = script.Budget(1, 60.0, 60.0)
    found = script.tuned("tiny_mlp", tmp_path, tmp_path / "r.json", budget)
    assert not found.problem and 0 < found.tuned <= found.untuned and found.builds == 1
    assert set(found.operators) == {"matmul"} and found.operators["matmul"] == found.all
    assert script.Result.of_json(found.to_json()) == found


def test_table_goes_on_where_it_was(script: ModuleType, tmp_path: Path) -> None:
    sums = script.Sums(1, 8.0, 4.0, 3.0, 0.75)
    kept = script.Result("a", 2, 10.0, 9.0, 0, sums, {"conv2d": sums})
    (tmp_path / "a.json").write_text(kept.to_json())
    assert script.bounded("a", tmp_path, tmp_path, script.Budget(1, 1.0, 1.0)) == kept
    late = script.bounded("tiny_mlp", tmp_path, tmp_path, script.Budget(1, 1.0, 0.0))
    assert late.problem == "not reached within 0 s" and not (tmp_path / "tiny_mlp.json").exists()


def test_table_sums_up_and_lists(script: ModuleType) -> None:
    conv = script.Sums(1, 800.0, 400.0, 300.0, 0.75) + script.Sums(1, 9.0, 6.0, 6.0, 1.0)
    rows = [
        script.Result("a", 2, 1000.0, 900.0, 0, conv, {"conv2d": conv}),
        script.Result("b", 1, 50.0, 50.0),
        script.Result("c", problem="no kernel"),
    ]
    text = script.table(rows)
    assert "2 models: 1 take fewer instructions tuned than untuned, 1 as many, none more." in text
    assert "| a | 2 | 2 | 809 | 406 | 306 | 1,000 | 900 | 90.0% |" in text
    assert "| b | 0 | 1 | 0 | 0 | 0 | 50 | 50 | 100.0% |" in text
    assert "different calls of 1 of the models" in text
    assert "| conv2d | 2 | 1.99 | 0.754 | 25.0% |" in text
    assert text.endswith("Without figures: c (no kernel).")
    worse = [script.Result("a", 1, 10.0, 11.0)]
    assert "0 as many, a more." in script.table(worse)


def test_table_keeps_the_models_that_were_not_tuned_again(
    script: ModuleType, tmp_path: Path
) -> None:
    kept, order = tmp_path / "kept.jsonl", ["a", "b", "c", "d"]
    first = [script.Result("b", 1, 50.0, 50.0), script.Result("a", 1, 10.0, 9.0)]
    script.merged(kept, first, order)
    again = [script.Result("b", 2, 50.0, 40.0), script.Result("a", problem="no board")]
    found = script.merged(kept, [*again, script.Result("d", problem="no kernel")], order)
    assert [(r.model, r.tuned, r.problem) for r in found] == [
        ("a", 9.0, ""), ("b", 40.0, ""), ("c", 0.0, "not tried yet"), ("d", 0.0, "no kernel"),
    ]  # fmt: skip
    assert [r.model for r in map(script.Result.of_json, kept.read_text().splitlines())] == [
        "a",
        "b",
    ]


def test_table_keeps_what_is_around_the_marks(script: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n")
    script.pages.write(page, "new", script.BEGIN, script.END)
    assert page.read_text() == f"before\n{script.BEGIN}\nnew\n{script.END}\nafter\n"
    assert script.PAGE.read_text().count(script.BEGIN) == 1
