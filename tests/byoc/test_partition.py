"""partition_for_megcc: what becomes a region, and what stays with TVM."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

import tvm_megcc
from tests.byoc.support import const, data, module, regions, run
from tests.closeness import assert_close
from tvm_megcc import relay
from tvm_megcc.byoc.patterns import PREFIX, patterns
from tvm_megcc.byoc.regions import inside, is_region
from tvm_megcc.errors import InputError

partition = tvm_megcc.partition_for_megcc


def _dense(b, x):
    return b.emit(relax.op.nn.relu(b.emit(relax.op.matmul(x, const(4, 6)))))


def test_region_is_as_large_as_it_can_be():
    mod = partition(module(_dense, 3, 4))
    assert relax.analysis.check_well_formed(mod)
    assert regions(mod) == {"main_megcc_0": ["matmul", "nn.relu"]}


def test_region_without_anything_for_a_kernel_is_tvms():
    before = module(lambda b, x: b.emit(relax.op.exp(b.emit(relax.op.add(x, x)))), 3, 4)
    after = partition(before)
    assert not regions(after)
    x = data(3, 4)
    assert_close(run(after, x)[0], np.exp(x + x))


@pytest.mark.slow
def test_constants_are_in_the_region_and_nowhere_else():
    mod = relax.transform.RunCodegen()(partition(module(_dense, 3, 4)))
    assert "const_name_to_constant" not in mod.attrs
    assert "GenericConst" not in mod.script()


def test_sealed_region_shows_what_it_computes():
    mod = partition(module(_dense, 3, 4))
    main = inside(mod["main_megcc_0"])["main"]
    assert [str(p.ty) for p in main.params] == ['R.Tensor((3, 4), dtype="float32")']
    assert "tvm_megcc" in mod.script()  # and the module can be printed


@pytest.mark.slow
def test_convolution_whose_weights_are_an_input_is_tvms():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 3, 8, 8), "float32"))
    w = relax.Var("w", relax.TensorType((4, 3, 3, 3), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.conv2d(x, w))
            out = builder.emit_output(relax.op.nn.max_pool2d(y, (2, 2), (2, 2)))
        builder.emit_func_output(out)
    mod = builder.get()
    assert regions(partition(mod)) == {"main_megcc_0": ["nn.max_pool2d"]}
    weights = data(4, 3, 3, 3)
    bound = partition(mod, params={"w": weights})
    assert regions(bound) == {"main_megcc_0": ["nn.conv2d", "nn.max_pool2d"]}
    image = data(1, 3, 8, 8)
    assert_close(run(tvm_megcc.transform.pipeline()(bound), image)[0], run(mod, image, weights)[0])


@pytest.mark.slow
def test_sizes_that_change_and_arguments_of_sizes():
    n = tirx.Var("n", "int64")

    def body(b, x):
        y = b.emit(relax.op.matmul(x, const(4, 6)))
        z = b.emit(relax.op.reshape(y, relax.ShapeExpr([n * 2, 3])))
        parts = b.emit(relax.op.split(z, 3, axis=1))
        return b.emit(relax.op.add(b.emit(parts[0]), b.emit(parts[2])))

    before = module(body, n, 4)
    after = partition(before)
    assert list(regions(after)) == ["main_megcc_0"]
    assert len(after["main_megcc_0"].params) == 1  # TVM's arguments of sizes are gone
    compiled = tvm.compile(relax.transform.RunCodegen()(after), "llvm")
    vm = relax.VirtualMachine(compiled, tvm.cpu())
    for size in (3, 1, 200, 0, 3):
        x = data(size, 4)
        assert_close(vm["main"](tvm.runtime.tensor(x)).numpy(), run(before, x)[0])


def test_sizes_that_no_tensor_says_stay_with_tvm():
    n = tirx.Var("n", "int64")

    def body(b, x):  # the region would see 2 * n only, and slices of n rows
        y = b.emit(relax.op.sort(x, axis=0))
        z = b.emit(relax.op.matmul(y, const(4, 6)))
        return b.emit(relax.op.strided_slice(z, [0], [0], [n]))

    before = module(body, n * 2, 4)
    after = partition(before)
    assert not regions(after)
    assert "main" in {g.name_hint for g in after.get_global_vars()}


@pytest.mark.slow
def test_what_tvm_alone_can_do_parts_regions():
    def body(b, x):
        y = b.emit(relax.op.matmul(x, const(4, 4)))
        y = b.emit(relax.op.sort(y, axis=1))
        return b.emit(relax.op.matmul(y, const(4, 5)))

    before = module(body, 3, 4)
    after = partition(before)
    assert regions(after) == {"main_megcc_0": ["matmul"], "main_megcc_1": ["matmul"]}
    x = data(3, 4)
    assert_close(run(tvm_megcc.transform.pipeline()(before), x)[0], run(before, x)[0])


def test_other_functions_and_tir_are_left_alone():
    mod = module(_dense, 3, 4)
    mod["other"] = module(lambda b, x: b.emit(relax.op.exp(x)), 2)["main"].with_attr(
        "global_symbol", "other"
    )
    after = partition(mod)
    tvm.ir.assert_structural_equal(after["other"], mod["other"])


def test_partitioning_twice_changes_nothing():
    once = partition(module(_dense, 3, 4))
    again = partition(once)
    assert regions(again) == regions(once)
    tvm.ir.assert_structural_equal(again["main"], once["main"])


def test_regions_have_names_that_nothing_has():
    once = partition(module(_dense, 3, 4))
    changed = module(lambda b, x: b.emit(relax.op.matmul(_dense(b, x), const(6, 2))), 3, 4)["main"]
    once.update_func(once.get_global_var("main"), changed)  # calls no region, which is still there
    assert regions(partition(once)) == {
        "main_megcc_0": ["matmul", "nn.relu"],
        "main_megcc_1": ["matmul", "nn.relu", "matmul"],
    }


def test_bounds_of_dims_reach_the_region():
    n = tirx.Var("n", "int64")
    mod = module(lambda b, x: b.emit(relax.op.matmul(x, const(4, 6))), n, 4)
    mod.dispatch("main", {"x": (relay.Any(), 4)}, lambda shapes: {"x": {0: [(1, 5)]}})
    found = {name: inside(f)["main"] for name, f in _regions(partition(mod))}
    bounds = {name: dict(main.attrs["tir_var_upper_bound"]) for name, main in found.items()
              if "tir_var_upper_bound" in main.attrs}  # fmt: skip
    assert {int(v) for row in bounds.values() for v in row.values()} == {4}
    assert len(found) > len(bounds) == 1


def _regions(mod):
    return [(g.name_hint, f) for g, f in mod.functions_items() if is_region(f)]


def test_pass_stands_in_a_sequential():
    passes = tvm.transform.Sequential(
        [relax.transform.CanonicalizeBindings(), tvm_megcc.transform.PartitionForMegcc("arm64")]
    )
    assert regions(passes(module(_dense, 3, 4)))


def test_patterns_are_in_tvms_registry():
    names = {p.name for p in patterns()}
    assert f"{PREFIX}nn.conv2d" in names and f"{PREFIX}call_tir" in names
    found = tvm.relax.backend.get_patterns_with_prefix(PREFIX)
    assert {p.name for p in found} == names


def test_wrong_machine_is_one_sentence():
    with pytest.raises(InputError, match="arm65"):
        partition(module(_dense, 3, 4), "arm65")


def test_annotated_by_others_is_one_sentence():
    mod = relax.transform.FuseOpsByPattern(patterns(), annotate_codegen=True)(module(_dense, 3, 4))
    with pytest.raises(InputError, match="partition the module with tvm_megcc.partition_for_megcc"):
        relax.transform.RunCodegen()(mod)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux tells a process's cores")
def test_asking_for_the_number_of_threads_binds_nobody() -> None:
    """TVM's pool binds the thread that makes it to one core, and so the compilers it starts."""
    code = (
        "import os; before = os.sched_getaffinity(0)\n"
        "from tvm_megcc.byoc.partition import PartitionForMegcc\n"
        "assert PartitionForMegcc().threads >= 1 and os.sched_getaffinity(0) == before"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TVM_BIND_THREADS"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
