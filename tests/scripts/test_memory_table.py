"""scripts/memory_table.py: what it measures of a tiny model, and the page it writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from onnx import TensorProto, helper

from tvm_megcc import zoo
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.frontend import from_onnx

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    before = list(sys.path)
    path = ROOT / "scripts" / "memory_table.py"
    spec = importlib.util.spec_from_file_location("memory_table", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["memory_table"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def fail() -> None:
    raise UnsupportedError("node 'n':\nno kernel")


def test_measure_orders_its_figures(script: ModuleType) -> None:
    row = script.measure("tiny", lambda: from_onnx(zoo.build("tiny_residual")), "arm64")
    assert row.problem == "" and row.outputs == 40
    assert row.naive >= row.before >= row.after > row.scratch
    assert row.naive >= row.pushdown >= row.arena >= row.after
    assert row.optimal and row.ratio == 1.0
    assert row.tvm > 0 and 0 < row.plan_s < row.compile_s


def test_a_model_that_does_not_compile_has_a_problem(script: ModuleType) -> None:
    row = script.measure("none", fail, "arm64")
    assert row.problem == "node 'n': no kernel" and row.arena == 0


def test_a_model_whose_data_says_sizes_has_no_figures(script: ModuleType) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, None)
    graph = helper.make_graph([helper.make_node("NonZero", ["x"], ["y"])], "g", [x], [y])
    row = script.measure("nonzero", lambda: from_onnx(helper.make_model(graph)), "arm64")
    assert row.problem.startswith("the data says") and row.arena == 0


def test_table_sums_up_and_lists(script: ModuleType) -> None:
    rows = [
        script.Row("zoo: a", 9000, 500, 400, 400, True, 0, "exact", 410, 999, 4, 1.0, 10.0),
        script.Row("b", 9000, 500, 400, 404, False, 64, "pushdown", 404, 0, 4, 1.0, 2.0),
        script.Row("c", problem="no kernel"),
    ]
    text = script.table(rows)
    assert "equals the lower bound on 1 of them (50%); the largest ratio is 1.0100 (b)" in text
    assert "total on 1 of the 1 models" in text and "take: zoo: a 10.0%." in text
    assert "| zoo: a | 9,000 | 500 | 400 | 400 | yes | 0 | exact | 410 | 999 | 4 |" in text
    assert "| b | 9,000 | 500 | 400 | 404 | 1.0100 | 64 | pushdown | 404 | fails | 4 |" in text
    assert text.endswith("Without figures: c (no kernel).")


def test_write_keeps_what_is_around_the_markers(script: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n")
    for text in ("new", "newer"):
        script.pages.write(page, text, script.BEGIN, script.END)
        assert page.read_text() == f"before\n{script.BEGIN}\n{text}\n{script.END}\nafter\n"


def test_the_page_has_the_markers_and_a_table(script: ModuleType) -> None:
    text = script.PAGE.read_text()
    assert text.count(script.BEGIN) == 1 == text.count(script.END)
    assert "| zoo: mobilenet_v2 |" in text.partition(script.BEGIN)[2]
