"""Conditions on data, in the C VM, as a library, and in TVM's virtual machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu

from tests.tvm_target import LLVM
from tvm_megcc import relay
from tvm_megcc.codegen_c import emit
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import shared_library, toolchain
from tvm_megcc.host.graph_form import graph_json
from tvm_megcc.host.package import load
from tvm_megcc.transform import PlanMemory

from . import checking
from .test_runtime import HOST, SANITIZE, compile_and_run

X = np.random.default_rng(0).standard_normal((5, 4)).astype("float32")
GOOD, BAD = np.array([0, 4, 2]), np.array([0, 5, 2])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [5, None], ids=["fixed", "open"])
def test_api(tmp_path: Path, rows: int | None) -> None:
    package = checking.write(tmp_path / "checking", rows)
    flags = [*SANITIZE, *(["-DOPEN"] if rows is None else [])]
    compile_and_run("test_check.c", [package], tmp_path, flags=flags)


def test_a_package_has_only_what_it_needs(tmp_path: Path) -> None:
    package = checking.write(tmp_path / "checking", 5)
    found = {path.stem for path in (package / "src").glob("megcc_*.c")}
    assert {"megcc_op_check", "megcc_failed"} < found
    assert not {"megcc_shapes", "megcc_data", "megcc_jumps"} & found


@pytest.mark.slow
def test_the_runner_names_the_node(tmp_path: Path) -> None:
    package = load(checking.write(tmp_path / "checking"))
    exe = toolchain.build(package.path, HOST, build_dir=tmp_path / "build")
    found = toolchain.run_package(exe, HOST, {"x": X, "i": GOOD}, package.manifest).outputs
    for name, want in checking.expected(X, GOOD).items():
        np.testing.assert_allclose(found[name], want, rtol=1e-6)
    message = r"run: error: Gather 'rows': a size or an index that data says is out of range$"
    with pytest.raises(ToolError, match=message):
        toolchain.run_package(exe, HOST, {"x": X, "i": BAD}, package.manifest)


@pytest.mark.slow
def test_a_library_names_the_node(tmp_path: Path) -> None:
    files = emit.package({HOST: checking.program()}, name="checking")
    shared_library.build(files, HOST, tmp_path / "checking.so")
    loaded = tvm.runtime.load_module(str(tmp_path / "checking.so"))
    module = relay.GraphModule(loaded["default"](tvm.cpu()))
    with pytest.raises(RuntimeError, match="Gather 'rows': a size or an index"):
        module.run(x=X, i=BAD)
    module.run(x=X, i=GOOD)
    np.testing.assert_allclose(
        module.get_output(0).numpy(), checking.expected(X, GOOD)["y"], rtol=1e-6
    )


@pytest.mark.parametrize("planned", [False, True], ids=["stock", "PlanMemory"])
def test_in_relax(planned: bool) -> None:
    planner = PlanMemory() if planned else relax.transform.StaticPlanBlockMemory()
    parts = [cpu.legalize_passes(LLVM), cpu.dataflow_lower_passes(LLVM)]
    rest = cpu.finalize_passes(LLVM)[1:]
    with LLVM:
        passes = [*(step for part in parts for step in part), planner, *rest]
        lowered = tvm.transform.Sequential(passes)(checking.module())
        built = relax.build(lowered, LLVM, relax_pipeline=tvm.transform.Sequential([]))
    vm = relax.VirtualMachine(built, tvm.cpu())
    give = [tvm.runtime.tensor(a) for a in (X, GOOD)]
    for found, want in zip(vm["main"](*give), checking.expected(X, GOOD).values(), strict=True):
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)
    with pytest.raises(RuntimeError, match="Gather 'rows': a size or an index"):
        vm["main"](give[0], tvm.runtime.tensor(BAD))


def test_no_graph_json() -> None:
    with pytest.raises(InputError, match="random numbers, and 'Gather 'rows'' is one of them"):
        graph_json(checking.program(5))
