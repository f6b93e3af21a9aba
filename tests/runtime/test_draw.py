"""Draws of random numbers: in the C VM, in a package's files, as a library, in TVM's VM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from onnx import parser
from tvm import relax

import tvm_megcc
from tests.philox import uniform
from tests.tvm_target import LLVM
from tvm_megcc import execute, relay
from tvm_megcc.core.program import Draw
from tvm_megcc.pipeline import compile_module
from tvm_megcc.relax_tools import draws

from . import drawing
from . import programs as p
from .test_runtime import HOST, SANITIZE, compile_and_run


@pytest.mark.slow
def test_api(tmp_path: Path) -> None:
    package = drawing.write(tmp_path / "drawing")
    flags = list(SANITIZE)
    for name, number in (("FIRST", 0), ("SECOND", 1)):
        numbers = ",".join(str(int(v * 2**24)) for v in uniform(4, 7, number))
        flags.append(f"-D{name}={numbers}")
    compile_and_run("test_draw.c", [package], tmp_path, flags=flags)


def test_a_package_without_random_numbers_is_as_it_was(tmp_path: Path) -> None:
    """No code for them, no more operands in a context, no line in the runner's header."""
    found = {path.stem for path in (drawing.write(tmp_path / "drawing") / "src").glob("*.c")}
    assert "megcc_op_draw" in found
    other = p.write_program(tmp_path / "other", p.planned(HOST))
    assert not [path for path in other.rglob("*") if "draw" in path.name]
    assert "DRAW" not in (other / "runner" / "model.h").read_text()
    model = (other / "model" / "model.c").read_text()
    assert "draw" not in model


TWO = parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 4] x) => (float[n, 4] y, float[n, 4] z) {
      a = RandomUniformLike(x) b = RandomUniformLike(x) y = Add(x, a) z = Sub(b, x) }""")
X = np.zeros((3, 4), "f4")


def expect(found: list[np.ndarray], seed: int, number: int) -> None:
    for k, array in enumerate(found):
        np.testing.assert_array_equal(array.ravel(), uniform(12, seed, 2 * number + k))


@pytest.mark.slow
def test_as_a_library(tmp_path: Path) -> None:
    mod, params = relay.frontend.from_onnx(TWO)
    library = relay.build(mod, params=params)
    library.export_library(tmp_path / "two.so")
    with execute.opened(tmp_path / "two.so") as runnable:
        ran = runnable.run({"x": X}, repeat=2, warmup=0, seed=4)
    expect(list(ran.outputs.values()), 4, 1)
    loaded = tvm.runtime.load_module(str(tmp_path / "two.so"))
    module = relay.GraphModule(loaded["default"](tvm.cpu()))
    for seed in (None, 2**62, -3):
        if seed is not None:
            module.set_seed(seed)
        for number in range(2):
            module.run(x=X)
            expect([module.get_output(k).numpy() for k in range(2)], seed or 0, number)


@pytest.mark.slow
def test_a_library_that_draws_nothing_takes_any_seed() -> None:
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[3] x) => (float[3] y) { y = Neg(x) }""")
    mod, params = relay.frontend.from_onnx(proto)
    relay.GraphModule(relay.build(mod, params=params)["default"](tvm.cpu())).set_seed(3)


def test_in_relax() -> None:
    mod = tvm_megcc.frontend.from_onnx(TWO).mod
    vm = relax.VirtualMachine(tvm.compile(mod, target=LLVM), tvm.cpu())
    for seed in (5, 5, -1):
        tvm_megcc.set_seed(seed)
        for number in range(2):
            found = vm["main"](tvm.runtime.tensor(X))
            expect([array.numpy() for array in found], seed, number)


@pytest.mark.slow
def test_as_a_region_of_relax() -> None:
    """A function that draws is a region as a whole, and has another seed in each run."""
    parted = tvm_megcc.partition_for_megcc(tvm_megcc.frontend.from_onnx(TWO).mod)
    assert [1 for func in parted.functions.values() if func.attrs and "Codegen" in func.attrs]
    compiled = tvm.compile(relax.transform.RunCodegen()(parted), target=LLVM)
    vm = relax.VirtualMachine(compiled, tvm.cpu())
    for seed in (5, 5, -1):
        tvm_megcc.set_seed(seed)
        for number in range(3):
            found = vm["main"](tvm.runtime.tensor(X))
            expect([array.numpy() for array in found], seed + number * draws.STRIDE, 0)


def test_draws_keep_their_order() -> None:
    """Whatever order of calls takes the least memory, here not the model's."""
    text = "".join(f"r{k} = RandomUniform <shape = [{1 << k}]> () " for k in range(6))
    sums = " ".join(f"s{k} = ReduceSum(r{k})" for k in range(6))
    outputs = ", ".join(f"float s{k}" for k in range(6))
    proto = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g () => ({outputs}) {{ {text} {sums} }}""")
    mod = tvm_megcc.frontend.from_onnx(proto).mod
    names = [f"s{k}" for k in range(6)]
    program = compile_module(mod, HOST, name="order", input_names=[], output_names=names)
    found = [step.name for step in program.calls if isinstance(step, Draw)]
    assert found == [f"RandomUniform 'r{k}'" for k in range(6)]
    kinds = [type(step).__name__ for step in program.calls]
    assert kinds != ["Draw", "Call"] * 6 + ["Call"] * 6, "never reordered: a test of nothing"
