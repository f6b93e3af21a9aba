"""Dims that are multiples of a symbol: what TVM's virtual machine and our compiler make of them."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

import tvm_megcc
from tests.dispatch.support import call, dense, expected, machine, scales, scales_expected
from tvm_megcc import driver, relay
from tvm_megcc.dispatch import dispatch
from tvm_megcc.errors import InputError
from tvm_megcc.importers.relax_module import from_module
from tvm_megcc.memory.variants import bundle_arena_bytes, sizes_of


@pytest.mark.slow
def test_both_machines_take_multiples_and_nothing_else() -> None:
    mod, params = relay.frontend.from_onnx(
        scales(), shape={"x": (1, 2, "4*(h=1..8)", "4*w")}, freeze_params=True
    )
    assert not params
    dispatch(mod, "main", {"x": (1, 2, None, None)}, lambda shapes: {"x": {2: [(4, 5), (8, 20)]}})
    vm = machine(mod)
    for height in (4, 8, 32):
        x = np.random.default_rng(0).standard_normal((1, 2, height, 12)).astype("float32")
        np.testing.assert_array_equal(call(vm, x), scales_expected(x))
    with pytest.raises(Exception, match="match_cast"):
        call(vm, np.zeros((1, 2, 8, 6), "float32"))
    graph = relay.GraphModule(relay.build(mod, target="tvm_megcc")["default"](tvm.cpu()))
    graph.run(x=x)
    np.testing.assert_array_equal(graph.get_output(0).numpy(), scales_expected(x))
    with pytest.raises(ValueError, match="'x', dim 3, w: .* it takes multiples of 4"):
        graph.set_input("x", np.zeros((1, 2, 8, 6), "float32"))
    with pytest.raises(ValueError, match="'x', dim 2, h: .* it takes 4 to 32"):
        graph.set_input("x", np.zeros((1, 2, 36, 8), "float32"))


@pytest.mark.slow
def test_regions_in_tvm_take_multiples() -> None:
    mod, _ = relay.frontend.from_onnx(
        scales(), shape={"x": (1, 2, "4*h", "4*w")}, freeze_params=True
    )
    mod = tvm_megcc.transform.CompileRegions()(tvm_megcc.partition_for_megcc(mod))
    x = np.random.default_rng(0).standard_normal((1, 2, 4, 12)).astype("float32")
    np.testing.assert_array_equal(call(machine(mod), x), scales_expected(x))


def test_what_tells_sizes_apart_before_the_run() -> None:
    bounded = {"x": (1, 2, "4*(h=1..8)", "4*(w=1..8)")}
    (program,) = driver.compile_programs(scales(), ["portable"], input_shapes=bounded).values()
    assert not program.requirements and program.arena_limit is not None
    assert str(program.tensors[program.outputs[0].tensor].shape) == "(1, 2, 2*h, 2*w)"
    from tvm_megcc.core.program import bundle_of

    bundle = bundle_of(program)
    assert sizes_of(bundle, {"x": (1, 2, 8, 32)}) == {"h": 2, "w": 8}
    assert bundle_arena_bytes(bundle, {"h": 8, "w": 8}) <= program.arena_limit
    for shape, words in {
        (1, 2, 8, 6): "give a multiple of 4",
        (1, 2, 8, 36): "give 4 to 32",
    }.items():
        with pytest.raises(InputError, match=words):
            sizes_of(bundle, {"x": shape})


def test_a_relax_module_is_told_by_a_cast() -> None:
    imported = from_module(dense(), {"x": ["8*(m=1..4)", None]}, name="dense", where="test")
    assert imported.inputs[0].shape == ("8*m", 4)
    assert imported.outputs[0].shape == ("8*m", 5)
    vm = machine(imported.mod)
    x = np.random.default_rng(0).standard_normal((16, 4)).astype("float32")
    np.testing.assert_allclose(call(vm, x), expected(x), rtol=1e-5)
    with pytest.raises(Exception, match="match_cast"):
        call(vm, x[:12])
