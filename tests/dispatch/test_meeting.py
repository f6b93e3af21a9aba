"""Programs for dims that meet: the one for equal dims copies nothing and is tried first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from tests.dispatch.test_package import built
from tvm_megcc import driver
from tvm_megcc.cli import changing, inspect
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.errors import ToolError
from tvm_megcc.host import package


def model() -> onnx.ModelProto:
    """``z = x + y``, whose first dims have names of their own."""
    ports = [helper.make_tensor_value_info(n, T.FLOAT, [d, 3]) for n, d in (("x", "n"), ("y", "m"))]
    result = helper.make_tensor_value_info("z", T.FLOAT, None)
    nodes = [helper.make_node("Add", ["x", "y"], ["z"], "plus")]
    return helper.make_model(helper.make_graph(nodes, "g", ports, [result]), ir_version=9)


def functions(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    (facts,) = manifest["per_arch"].values()
    return facts["functions"]


def copies(function: dict[str, Any]) -> int:
    """Calls besides the addition, by which operands are copied."""
    return sum(function["calls_by_kernel"].values()) - 1


def check(run, *pairs: tuple[int, int]) -> None:
    for n, m in pairs:
        x, y = (np.random.default_rng(k).random((k, 3), "float32") for k in (n, m))
        np.testing.assert_array_equal(run(x=x, y=y)["z"], x + y)


@pytest.mark.slow
def test_two_programs(tmp_path: Path) -> None:
    driver.compile_model(model(), tmp_path / "pkg")
    run, manifest = built(tmp_path / "pkg")
    assert [copies(f) for f in functions(manifest)] == [0, 2]
    check(run, (4, 4), (1, 4), (4, 4), (4, 1), (1, 1), (0, 1), (0, 0))
    with pytest.raises(ToolError, match="'Add__plus': .* not equal, as they must be"):
        run(x=np.ones((2, 3), "float32"), y=np.ones((4, 3), "float32"))
    check(run, (4, 4))


def test_the_package_has_the_models_name(tmp_path: Path) -> None:
    """And not a function's: packages in one program are told apart by it."""
    driver.compile_model(model(), tmp_path / "p", archs=("portable",), name="sums")
    manifest = package.load(tmp_path / "p").manifest
    assert len(functions(manifest)) == 2
    assert (manifest["name"], manifest["c_name"]) == ("sums", "sums")


def test_inspect_says_which_program(tmp_path: Path) -> None:
    driver.compile_model(model(), tmp_path / "pkg")
    opened = package.load(tmp_path / "pkg")
    for (n, m), number in {(4, 4): 0, (1, 4): 1, (4, 1): 1}.items():
        shapes = {"x": (n, 3), "y": (m, 3)}
        found = changing.at_shapes(inspect.summary(opened.manifest), opened.inputs, shapes)
        assert {at["function"] for at in found.values()} == {number}
    first, second = (line for line in changing.lines(inspect.summary(opened.manifest))
                     if line.startswith("program"))  # fmt: skip
    assert "if dims that meet are equal" in first and "if" not in second


def test_sizes_that_are_known_need_no_copies(tmp_path: Path) -> None:
    listed = tuple({"x": (n, 3), "y": (m, 3)} for n, m in ((1, 4), (4, 1), (4, 4)))
    driver.compile_model(model(), tmp_path / "pkg", dynamic=DynamicOptions(listed=listed))
    assert [copies(f) for f in functions(package.load(tmp_path / "pkg").manifest)] == [0, 0, 0]


@pytest.mark.slow
def test_buckets(tmp_path: Path) -> None:
    dynamic = DynamicOptions(buckets={"x": {0: [(1, 2), (2, 8)]}})
    driver.compile_model(model(), tmp_path / "pkg", dynamic=dynamic)
    run, manifest = built(tmp_path / "pkg")
    assert [copies(f) for f in functions(manifest)][0] == 0
    check(run, (1, 1), (1, 4), (4, 4), (4, 1), (9, 9), (9, 1), (0, 1))
