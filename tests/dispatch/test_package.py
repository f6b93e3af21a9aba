"""Dispatch in the C package: the right program runs, weights are there once, gaps are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.dispatch.support import (
    dense,
    expected,
    two_expected,
    two_inputs,
    windows,
    windows_expected,
)
from tvm_megcc import driver, relay
from tvm_megcc.dims import Symbol
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import package, toolchain
from tvm_megcc.memory_options import MemoryOptions

RNG = np.random.default_rng(5)


def built(path: Path, arch: str = "host"):  # noqa: ANN201
    """(run, manifest) of a package."""
    opened = package.load(path)
    chosen = opened.choose(arch)
    exe = toolchain.build(path, chosen, build_dir=path.with_name("build"), sanitize=True)

    def run(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        return toolchain.run_package(exe, chosen, inputs, opened.manifest).outputs

    return run, opened.manifest


@pytest.mark.slow
def test_buckets_of_a_relax_module(tmp_path: Path) -> None:
    mod = dense()
    mod.dispatch(
        "main", {"x": (relay.Any(), 4)}, lambda shapes: {"x": {0: [(1, 2), (2, 5), (7, None)]}}
    )
    lib = relay.build(mod)
    lib.save(tmp_path / "pkg")
    run, manifest = built(tmp_path / "pkg")
    for n in (1, 2, 4, 5, 6, 7, 30, 0):
        x = RNG.standard_normal((n, 4)).astype("float32")
        assert_close(run(x=x)["output"], expected(x))
        assert lib.arena_bytes({"x": (n, 4)}) >= 0
    (arch,) = manifest["per_arch"].values()
    assert [f["sizes"] for f in arch["functions"]] == [
        {"n": [1, 2]}, {"n": [2, 5]}, {"n": [7, None]}, {},
    ]  # fmt: skip
    single = relay.build(dense((1, 4)))
    single.save(tmp_path / "single")
    (alone,) = json.loads((tmp_path / "single/manifest.json").read_text())["per_arch"].values()
    assert arch["weight_bytes"] == alone["weight_bytes"]


@pytest.mark.slow
def test_gaps_without_a_fallback_are_refused(tmp_path: Path) -> None:
    mod = dense()
    mod.dispatch(
        "main", {"x": (relay.Any(), 4)}, lambda shapes: {"x": {0: [(2, 4)]}}, fallback="none"
    )
    relay.build(mod).save(tmp_path / "pkg")
    run, _ = built(tmp_path / "pkg")
    x = np.ones((3, 4), "float32")
    assert_close(run(x=x)["output"], expected(x))
    with pytest.raises(ToolError, match="not compiled for these sizes"):
        run(x=np.ones((4, 4), "float32"))


@pytest.mark.slow
def test_listed_shapes_of_two_inputs_at_once(tmp_path: Path) -> None:
    listed = (
        {"a": (1, 2, 3), "b": (1, 5, 3)},
        {"a": (4, 7, 3), "b": (4, 1, 3)},
        {"a": (2, 2, 3), "b": (2, 2, 3)},
    )
    driver.compile_model(two_inputs(), tmp_path / "pkg", dynamic=DynamicOptions(listed=listed))
    run, manifest = built(tmp_path / "pkg")
    assert len(next(iter(manifest["per_arch"].values()))["functions"]) == 3
    for shapes in listed:
        a, b = (RNG.standard_normal(shapes[n]).astype("float32") for n in "ab")
        assert_close(run(a=a, b=b)["y"], two_expected(a, b))
    a, b = np.ones((1, 2, 3), "float32"), np.ones((1, 1, 3), "float32")
    with pytest.raises(ToolError, match="not compiled for these sizes"):
        run(a=a, b=b)


def test_one_program_for_all_sizes(tmp_path: Path) -> None:
    shapes = {"a": (Symbol("", 1, 4), None, 3)}
    driver.compile_model(two_inputs(), tmp_path / "pkg", input_shapes=shapes)
    run, manifest = built(tmp_path / "pkg")
    assert manifest["symbols"][0] == {"name": "batch", "low": 1, "high": 4}
    for n, wa, wb in ((1, 1, 1), (4, 9, 2), (2, 0, 3), (3, 5, 0)):
        a = RNG.standard_normal((n, wa, 3)).astype("float32")
        b = RNG.standard_normal((n, wb, 3)).astype("float32")
        assert_close(run(a=a, b=b)["y"], two_expected(a, b))
    wide = np.ones((5, 1, 3), "float32")
    with pytest.raises(
        ToolError, match="'a', dim 0 \\('batch'\\).*it is 5, the model takes 1 to 4"
    ):
        run(a=wide, b=wide)
    with pytest.raises(ToolError, match="'b', dim 0 \\('batch'\\).*2 and 1"):
        run(a=wide[:1], b=wide[:2])
    with pytest.raises(InputError, match="takes \\['batch', 'wb', 3\\]"):
        run(a=wide[:1], b=np.ones((1, 1, 4), "float32"))


def test_options_that_contradict() -> None:
    with pytest.raises(InputError, match="cannot be combined"):
        DynamicOptions(listed=({"a": (1,)},), buckets={"a": {0: [(1, 2)]}})
    with pytest.raises(InputError, match="different ranks"):
        DynamicOptions(listed=({"a": (1,)}, {"a": (1, 2)})).import_shapes(None)


@pytest.mark.parametrize(
    "dynamic",
    [
        DynamicOptions(listed=({"a": (1, 2, 3), "b": (1, 5, 3)}, {"a": (4, 7, 3), "b": (4, 1, 3)})),
        DynamicOptions(buckets={"a": {0: [(1, 2)]}}, fallback="none"),
    ],
)
def test_pools_are_for_fixed_shapes(tmp_path: Path, dynamic: DynamicOptions) -> None:
    """The VM has one pool where shapes can change."""
    pools = MemoryOptions(pools=(("a", 64), ("b", None)))
    with pytest.raises(InputError, match="'two': memory pools need fixed shapes.*leave out"):
        driver.compile_model(two_inputs(), tmp_path / "pkg", memory=pools, dynamic=dynamic)
    one = MemoryOptions(pools=(("a", None),))
    if dynamic.listed:
        driver.compile_model(two_inputs(), tmp_path / "pkg", memory=one, dynamic=dynamic)


def test_arena_of_shapes_from_python() -> None:
    lib = relay.build(dense(("n", "h", 4)))
    assert lib.arena_bytes({"x": (2, 3, 4)}) <= lib.arena_bytes({"x": (4, 3, 4)})
    with pytest.raises(InputError, match="the shapes of this model can change"):
        lib.memory_plan()
    for shapes, words in (
        ({}, "no shape says the size of 'n'"),
        ({"x": (2, 3)}, "has 3 dims"),
        ({"x": (2, 3, 5)}, "is 4, not 5"),
        ({"z": (2,)}, "no input"),
    ):
        with pytest.raises(InputError, match=words):
            lib.arena_bytes(shapes)


def check_windows(path: Path, rows: tuple[int, ...]) -> None:
    run, _ = built(path)
    w = RNG.standard_normal((5, 2, 3, 3)).astype("float32")
    for h in rows:
        x = RNG.standard_normal((1, 2, h, 4)).astype("float32")
        if h < 2:
            with pytest.raises(ToolError, match="MEGCC_ERR_SHAPE|-1|has to be|size"):
                run(x=x, w=w)
        else:
            assert_close(run(x=x, w=w)["y"], windows_expected(x, w))


@pytest.mark.slow
@pytest.mark.parametrize("fallback", ["symbolic", "none"])
@pytest.mark.parametrize("ends", [(1, 2, 3, 4, None), (0, 1, 3, 5), (0, 2, None)])
def test_buckets_of_sizes_without_a_result(
    ends: tuple[int | None, ...], fallback: str, tmp_path: Path
) -> None:
    """No window stands in one row, and of two TVM compiles none: the package was refused whole."""
    intervals = list(zip(ends, ends[1:], strict=False))
    options = DynamicOptions(buckets={"x": {2: intervals}}, fallback=fallback)
    driver.compile_model(windows(), tmp_path / "pkg", dynamic=options)
    check_windows(tmp_path / "pkg", (3, 0, 1, 2, 4))


@pytest.mark.slow
def test_listed_shapes_without_a_result(tmp_path: Path) -> None:
    def listed(*rows: int) -> DynamicOptions:
        return DynamicOptions(listed=tuple({"x": (1, 2, h, 4)} for h in rows))

    driver.compile_model(windows(), tmp_path / "pkg", dynamic=listed(2, 3, 4))
    check_windows(tmp_path / "pkg", (3, 2, 4))
    with pytest.raises(InputError, match="no result for 'h' = 1 of the listed shapes"):
        driver.compile_model(windows(), tmp_path / "none", dynamic=listed(3, 1))
