"""Regions in TVM's virtual machine: dispatch, memory plans, threads, errors, other machines."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

import tvm_megcc
from tests.byoc.support import const, data, module, regions, run, values
from tests.closeness import assert_close
from tvm_megcc import frontend, relay, zoo

partition = tvm_megcc.partition_for_megcc


def _dense(b, x):
    return b.emit(relax.op.nn.relu(b.emit(relax.op.matmul(x, const(4, 6)))))


def _vm(mod: tvm.IRModule, **options: object) -> relax.VirtualMachine:
    return relax.VirtualMachine(tvm.compile(mod, "llvm", **options), tvm.cpu())


def _with_plan() -> tvm.transform.Sequential:
    """TVM's default pipeline with our plan in the place of its own."""
    transform = relax.transform
    return tvm.transform.Sequential(
        [
            transform.LegalizeOps(),
            transform.RewriteDataflowReshape(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            tvm_megcc.transform.PlanMemory(),
            transform.LowerAllocTensor(),
            transform.KillAfterLastUse(),
            transform.LowerRuntimeBuiltin(),
            transform.ComputePrimValue(),
            transform.VMShapeLower(),
            transform.AttachGlobalSymbol(),
        ]
    )


@pytest.mark.slow
@pytest.mark.turn(2, 3)
def test_dispatched_resnet50_with_planned_memory() -> None:
    """RFC 4118's example, all of it in one TVM pipeline: buckets, regions, our memory plan."""
    import onnxruntime

    shape = (3, 224, 224)
    model = zoo.build("resnet50", batch="N")
    dims = {"input": (relay.Any(), *shape)}
    mod, _ = relay.frontend.from_onnx(model, shape=dims, freeze_params=True)
    mod.dispatch("main", dims, relay.vm.log_dispatcher)
    mod = tvm_megcc.transform.pipeline(threads=1)(mod)
    vm = _vm(mod, relax_pipeline=_with_plan())
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for batch in (1, 2, 5):
        x = data(batch, *shape)
        (got,) = values(vm["main"](tvm.runtime.tensor(x)))
        assert_close(got, session.run(None, {"input": x})[0], 1e-4)


@pytest.mark.slow
def test_dispatched_regions_hold_weights_once(tmp_path: Path) -> None:
    n = tirx.Var("n", "int64")
    mod = module(lambda b, x: b.emit(relax.op.matmul(x, const(256, 256))), n, 256)
    mod.dispatch("main", {"x": (relay.Any(), 256)}, relay.vm.log_dispatcher)
    parted = partition(mod)
    assert len(regions(parted)) > 3
    out = tmp_path / "model.so"
    compiled = tvm.compile(tvm_megcc.transform.CompileRegions()(parted), "llvm")
    compiled.export_library(str(out))
    assert out.stat().st_size < 2 * 256 * 256 * 4
    vm = relax.VirtualMachine(tvm.runtime.load_module(str(out)), tvm.cpu())
    for rows in (1, 3, 300):
        x = data(rows, 256)
        assert_close(vm["main"](tvm.runtime.tensor(x)).numpy(), run(mod, x)[0])


@pytest.mark.slow
def test_package_and_region_give_the_same_bits() -> None:
    imported = frontend.from_onnx(zoo.build("tiny_cnn"))
    image = data(1, 3, 32, 32)
    lib = relay.build(imported.mod)
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    m.run(input=image)
    (got,) = run(tvm_megcc.transform.pipeline()(imported.mod), image)
    np.testing.assert_array_equal(got, m.get_output(0).numpy())


@pytest.mark.slow
def test_results_do_not_depend_on_threads() -> None:
    mod = frontend.from_onnx(zoo.build("tiny_cnn")).mod
    image = data(1, 3, 32, 32)
    found = [run(tvm_megcc.transform.pipeline(threads=k)(mod), image)[0] for k in (1, 2, 8)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.slow
def test_vms_in_several_threads_at_once() -> None:
    mod = frontend.from_onnx(zoo.build("tiny_cnn")).mod
    executable = tvm.compile(tvm_megcc.transform.pipeline(threads=2)(mod), "llvm")
    images = [data(1, 3, 32, 32) for _ in range(4)]
    want = [run(mod, image)[0] for image in images]
    wrong: list[int] = []

    def work(k: int) -> None:
        vm = relax.VirtualMachine(executable, tvm.cpu())
        for _ in range(20):
            got = vm["main"](tvm.runtime.tensor(images[k])).numpy()
            if not np.allclose(got, want[k], rtol=1e-4, atol=1e-5):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tensor_at_an_offset_is_read_there() -> None:
    """Our memory plan gives tensors offsets in one storage."""
    mod = module(_dense, 3, 4)
    vm = _vm(tvm_megcc.transform.pipeline()(mod), relax_pipeline=_with_plan())
    x = data(3, 4)
    assert_close(vm["main"](tvm.runtime.tensor(x)).numpy(), run(mod, x)[0])


@pytest.mark.slow
def test_failing_run_names_the_node() -> None:
    import onnx
    from onnx import TensorProto as T
    from onnx import helper

    weights = onnx.numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Gather", ["h", "i"], ["y"], name="choose"),
        ],
        "one",
        [
            helper.make_tensor_value_info("x", T.FLOAT, [4, 4]),
            helper.make_tensor_value_info("i", T.INT64, [2]),
        ],
        [helper.make_tensor_value_info("y", T.FLOAT, [2, 4])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    mod = tvm_megcc.transform.pipeline()(frontend.from_onnx(model).mod)
    vm = _vm(mod)
    x = tvm.runtime.tensor(np.eye(4, dtype=np.float32))
    good = vm["main"](x, tvm.runtime.tensor(np.array([1, 2])))
    assert_close(good.numpy(), np.ones((2, 4), np.float32))
    with pytest.raises(RuntimeError, match="choose.*out of range"):
        vm["main"](x, tvm.runtime.tensor(np.array([1, 40])))
    assert_close(vm["main"](x, tvm.runtime.tensor(np.array([1, 2]))).numpy(), good.numpy())


@pytest.mark.slow
def test_function_with_branches_is_one_region() -> None:
    """With the functions of its branches, for sizes that change."""
    import onnxruntime
    from onnx import TensorProto as T
    from onnx import helper

    from tests.ops.test_control_flow import branch_model, graph

    then = graph("t", [helper.make_node("Exp", ["r"], ["a"])], [], [("a", T.FLOAT)])
    other = graph("e", [helper.make_node("Neg", ["r"], ["b"])], [], [("b", T.FLOAT)])
    model = branch_model(then, other)
    mod = partition(frontend.from_onnx(model).mod)
    assert [g.name_hint for g in mod.get_global_vars()] == ["main", "main_megcc_0"]
    vm = _vm(relax.transform.RunCodegen()(mod))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for rows, flag in [(3, True), (1, False), (5, True)]:
        feed = {"x": data(rows, 4), "c": np.array(flag)}
        got = vm["main"](*map(tvm.runtime.tensor, feed.values())).numpy()
        assert_close(got, session.run(None, feed)[0])
