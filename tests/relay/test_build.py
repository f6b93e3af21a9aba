"""``relay.build`` and the library it returns, from ONNX and from any Relax module."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from tvm import relax

from tests.cli import tiny
from tvm_megcc import execute, relay
from tvm_megcc.core.dtypes import numpy_dtype
from tvm_megcc.errors import InputError, MegccError
from tvm_megcc.host.files import read_tree
from tvm_megcc.memory_options import MemoryOptions


@pytest.fixture(scope="module")
def lib(model: onnx.ModelProto) -> relay.Library:
    mod, params = relay.frontend.from_onnx(model)
    return relay.build(mod, target="tvm_megcc", params=params)


def check_outputs(m: relay.GraphModule) -> None:
    inputs, expected = tiny.example()
    m.set_input("x:0", inputs["x:0"])
    m.run()
    for i, value in enumerate(expected.values()):
        got = m.get_output(i).numpy()
        np.testing.assert_allclose(got, value, rtol=1e-6)
        assert got.shape == value.shape and got.dtype == value.dtype


def test_build_runs(lib: relay.Library) -> None:
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    check_outputs(m)
    assert (m.get_num_inputs(), m.get_num_outputs()) == (1, 2)
    assert (m.get_input_names(), m.get_output_names()) == (["x:0"], ["y/0", "sum"])
    assert (m.get_input_index("x:0"), m.get_input_index("y/0")) == (0, -1)


def test_exported_library_gives_the_numbers_of_the_package(
    lib: relay.Library, tmp_path: Path
) -> None:
    lib.export_library(tmp_path / "model.so")
    lib.save(tmp_path / "model_pkg")
    loaded = tvm.runtime.load_module(str(tmp_path / "model.so"))
    m = relay.GraphModule(loaded["default"](tvm.cpu()))
    check_outputs(m)
    rng = np.random.default_rng(1)
    with execute.opened(tmp_path / "model_pkg") as runnable:
        for _ in range(3):
            x = rng.standard_normal((2, 3)).astype(np.float32)
            expected = runnable.run({"x:0": x}).outputs
            m.run(**{"x:0": x})
            for i, value in enumerate(expected.values()):
                assert m.get_output(i).numpy().tobytes() == value.tobytes()


def test_save_equals_tvmc_compile(lib: relay.Library, model_file: Path, tmp_path: Path) -> None:
    from tvm_megcc import driver

    lib.save(tmp_path / "a")
    driver.compile_model(model_file, tmp_path / "b")
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")


def test_build_takes_what_tvmc_takes_for_speed_and_size() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 32, 32, 16), "float32"))
    weight = relax.const(np.ones((16, 3, 3, 16), "float32"))
    with builder.function("main", [x]):
        layout = {"data_layout": "NHWC", "kernel_layout": "OHWI"}
        builder.emit_func_output(builder.emit(relax.op.nn.conv2d(x, weight, **layout)))
    mod = builder.get()

    def kernel(**options: object) -> str:
        program = relay.build(mod, "arm64", **options).program
        return program.kernels[0].template.removeprefix("conv2d_nhwc_f32_")

    assert kernel(optimize="speed") == "winograd6"
    assert kernel(optimize="size") == kernel(optimize="speed", exact=True) == "gemm"
    with pytest.raises(InputError, match="optimize 'fast' is not known; choose from speed, "):
        kernel(optimize="fast")


def test_unpacking_and_views(lib: relay.Library) -> None:
    graph, same, params = lib
    assert same is lib and graph == lib.get_graph_json()
    total = sum(t.numpy().nbytes for t in params.values())
    plan = lib.memory_plan()
    assert total == plan.weight_bytes > 0
    assert plan.optimal and plan.arena_bytes == plan.lower_bound > 0
    assert all(b.offset + b.bytes <= plan.pools[b.pool].bytes for b in plan.blocks)
    live = plan.live(plan.peak_step)
    assert sum(b.bytes for b in live) <= plan.arena_bytes
    assert f"arena {plan.arena_bytes} bytes (optimal" in str(plan)
    assert plan.peak_call == lib.program.calls[plan.peak_step].name in str(plan)
    source = lib.get_source()
    assert "megcc_run" in source and "==== model/model.c" in source


def test_graph_json_is_consistent(lib: relay.Library) -> None:
    graph = json.loads(lib.get_graph_json())
    nodes, pointers = graph["nodes"], graph["node_row_ptr"]
    assert len(pointers) == len(nodes) + 1
    attrs = {key: values for key, (_, values) in graph["attrs"].items()}
    assert {len(values) for values in attrs.values()} == {pointers[-1]}
    for number, node in enumerate(nodes):
        assert all(source < number for source, _, _ in node["inputs"])
    assert [nodes[n]["name"] for n in graph["arg_nodes"]][0] == "x:0"
    heads = [attrs["shape"][pointers[n] + k] for n, k, _ in graph["heads"]]
    assert heads == [[2, 4], []]


def test_executions_are_independent(lib: relay.Library) -> None:
    a, b = (relay.GraphModule(lib["default"](tvm.cpu())) for _ in range(2))
    x = np.ones((2, 3), np.float32)
    a.run(**{"x:0": x})
    b.run(**{"x:0": 2 * x})
    first = a.get_output(0).numpy()
    np.testing.assert_allclose(2 * first, b.get_output(0).numpy())
    kept = a.get_output(0)
    a.run(**{"x:0": 0 * x})
    np.testing.assert_array_equal(kept.numpy(), first)  # an output is a copy
    del a, b


def test_set_input_forms(lib: relay.Library) -> None:
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for value in (x, tvm.runtime.tensor(x), x.tolist(), np.asfortranarray(x), x[::1]):
        m.set_input(0, np.zeros_like(x))
        m.set_input(0, value)
        np.testing.assert_array_equal(m.get_input("x:0").numpy(), x)
    out = tvm.runtime.tensor(np.zeros((2, 4), np.float32))
    m.run()
    assert m.get_output(0, out) is out
    np.testing.assert_array_equal(out.numpy(), m.get_output(0).numpy())


def test_errors_are_one_sentence(lib: relay.Library) -> None:
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    x = np.ones((2, 3), np.float32)
    cases = [
        (lambda: m.set_input("nope", x), ValueError, "no input called 'nope'; its inputs are '"),
        (lambda: m.set_input(1, x), IndexError, "no input 1; it has 1"),
        (lambda: m.set_input(0, x[:1]), ValueError, r"shape \[1, 3\] does not fit .* \[2, 3\]"),
        (lambda: m.set_input(0, x.astype("float64")), TypeError, "element type is not f32"),
        (lambda: m.get_output(0), RuntimeError, "y/0: there is no output before a run"),
        (lambda: m.get_output(9), IndexError, "no output 9"),
        (lambda: lib["default"](tvm.cuda(0)), ValueError, "CPU"),
        (lambda: lib["main"], InputError, "default"),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
    m.set_input(0, x)
    m.run()
    with pytest.raises(ValueError, match="shape"):
        m.get_output(0, tvm.runtime.tensor(np.zeros((1, 4), np.float32)))


def relax_module() -> tvm.IRModule:
    """``relu(x @ w), x @ w`` built by hand, without any name of ONNX."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    w = relax.Var("w", relax.TensorType((3, 4), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(x, w))
            result = builder.emit(relax.op.nn.relu(product))
            out = builder.emit_output(relax.Tuple([result, product]))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.slow
def test_build_any_relax_module() -> None:
    x, _ = tiny.example()
    expected = x["x:0"] @ tiny.WEIGHT
    graph, lib, params = relay.build(relax_module(), params={"w": tiny.WEIGHT}, mod_name="mine")
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    assert m.get_input_names() == ["x"] and lib.program.name == "mine"
    assert m.get_output_names() == ["output_0", "output_1"]
    m.run(x=x["x:0"])
    np.testing.assert_allclose(m.get_output(0).numpy(), np.maximum(expected, 0), rtol=1e-6)
    np.testing.assert_allclose(m.get_output(1).numpy(), expected, rtol=1e-6)


@pytest.mark.slow
def test_build_without_params_takes_weights_as_inputs() -> None:
    x, _ = tiny.example()
    lib = relay.build(relax_module(), target={"tag": "tvm_megcc"})
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    assert m.get_input_names() == ["x", "w"]
    m.run(x=x["x:0"], w=tiny.WEIGHT)
    np.testing.assert_allclose(m.get_output(1).numpy(), x["x:0"] @ tiny.WEIGHT, rtol=1e-6)


def test_build_does_not_change_the_module() -> None:
    mod = relax_module()
    relay.build(mod, params={"w": tiny.WEIGHT})
    tvm.ir.assert_structural_equal(mod, relax_module())


def test_build_for_another_architecture(model: onnx.ModelProto) -> None:
    mod, params = relay.frontend.from_onnx(model)
    lib = relay.build(mod, target={"tag": "tvm_megcc", "mcpu": "cortex-a76"}, params=params)
    assert lib.program.arch == "arm64+dotprod+fp16"


def test_build_refuses(model: onnx.ModelProto) -> None:
    mod, _ = relay.frontend.from_onnx(model)
    with pytest.raises(InputError, match="'w' of the module has no value"):
        relay.build(mod)
    with pytest.raises(InputError, match=r"'w' is float32\[3, 4\].*float64\[3, 4\]"):
        relay.build(mod, params={"w": tiny.WEIGHT.astype("float64")})
    with pytest.raises(InputError, match="no Relax function 'main'"):
        relay.build(tvm.IRModule({}))


@pytest.mark.slow
def test_build_with_memory_options(model: onnx.ModelProto) -> None:
    mod, params = relay.frontend.from_onnx(model)
    options = MemoryOptions(planner="greedy-size", clobber_inputs=True)
    lib = relay.build(mod, params=params, io="arena", memory=options)
    plan = lib.memory_plan()
    assert plan.planner == "greedy-size" and "x:0" in {b.name for b in plan.blocks}
    check_outputs(relay.GraphModule(lib["default"](tvm.cpu())))
    with pytest.raises(MegccError, match="1 bytes are missing"):
        relay.build(
            mod, params=params, io="arena", memory=replace(options, limit=plan.arena_bytes - 1)
        )


@pytest.mark.slow
def test_types_that_are_stored(tmp_path: Path) -> None:
    """8-bit floats are TVM's; elements of 4 and 2 bits have a byte each."""
    types = {"x": 17, "z": 1, "i": 22}
    casts = [("x", "y", 1), ("z", "w", 19), ("i", "j", 1), ("z", "k", 26)]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Cast", [a], [b], to=to) for a, b, to in casts],
        "stored",
        [onnx.helper.make_tensor_value_info(n, t, [f"{n}0"]) for n, t in types.items()],
        [onnx.helper.make_tensor_value_info(b, to, None) for _, b, to in casts],
    )
    opset = [onnx.helper.make_opsetid("", 25)]
    proto = onnx.helper.make_model(graph, opset_imports=opset, ir_version=11)
    mod, params = relay.frontend.from_onnx(proto)
    m = relay.GraphModule(relay.build(mod, "tvm_megcc", params=params)["default"](tvm.cpu()))
    x = np.array([1, 2, -4, 0.5]).astype(numpy_dtype("f8e4m3fn"))
    z = np.array([1.1, -2.2, -1, 0, 1], np.float32)
    i = np.array([-8, 7, -1]).astype(numpy_dtype("i4"))
    m.run(x=x, z=z, i=i)
    y, w, j, k = (m.get_output(n).numpy() for n in range(4))
    np.testing.assert_array_equal(y, x.astype(np.float32))
    np.testing.assert_array_equal(j, i.astype(np.float32))
    assert (w.dtype.name, k.dtype.name) == ("float8_e5m2", "int8")
    np.testing.assert_array_equal(w.astype(np.float32), [1, -2, -1, 0, 1])
    np.testing.assert_array_equal(k, [1, -2, -1, 0, 1])
    np.testing.assert_array_equal(m.get_input("i").numpy(), i.astype(np.int8))
