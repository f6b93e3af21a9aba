"""PlanMemory: random graphs by name; modules and models in TVM's virtual machine, to the bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu

from tests.tvm_memory.support import (
    CHAIN,
    IF,
    LLVM,
    PACKED,
    RESIDUAL,
    SYMBOLIC,
    check,
    module,
    planned,
)
from tvm_megcc.frontend import from_onnx
from tvm_megcc.tvm_memory.allocated import allocated

pytestmark = pytest.mark.slow


def _lowered(mod: tvm.IRModule) -> tvm.IRModule:
    passes = [*cpu.legalize_passes(LLVM), *cpu.dataflow_lower_passes(LLVM)]
    with LLVM:
        return tvm.transform.Sequential(passes)(mod)


OPERATORS = (
    "tanh", "negative", "add", "matmul", "permute_dims", "reshape", "concat", "slice", "max",
)  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> tvm.IRModule:
    """A dataflow function on matrices, with some of its values as results."""
    builder = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("main", [param]):
        with builder.dataflow():
            values = [param]
            for _ in range(draw(st.integers(2, 14))):
                a = values[-1 - draw(st.integers(0, min(3, len(values) - 1)))]
                b = draw(st.sampled_from([v for v in values if _shape(v) == _shape(a)]))
                values.append(builder.emit(_operation(draw(st.sampled_from(OPERATORS)), a, b)))
            chosen = draw(st.lists(st.sampled_from(values[1:]), min_size=1, max_size=3))
            results = [builder.emit_output(relax.op.multiply(v, relax.const(2.0))) for v in chosen]
        builder.emit_func_output(relax.Tuple(results))
    return _lowered(builder.get())


def _shape(x: relax.Expr) -> tuple[int, ...]:
    return tuple(int(d) for d in x.ty.shape.values)


def _operation(name: str, a: relax.Var, b: relax.Var) -> relax.Expr:
    """`name` on matrices of one shape; what would grow without bound is cut instead."""
    rows, columns = _shape(a)
    if name in ("concat", "matmul") and rows * columns > 500:
        name = "slice"
    if name == "add":
        return relax.op.add(a, b)
    if name == "matmul":
        return relax.op.matmul(a, relax.op.permute_dims(b))
    if name == "reshape" and rows * columns % 2 == 0:
        return relax.op.reshape(a, (rows * columns // 2, 2))
    if name == "concat":
        return relax.op.concat([a, b], axis=0)
    if name == "slice":
        return relax.op.strided_slice(a, [0], [0], [(rows + 1) // 2])
    if name == "max":
        return relax.op.max(a, axis=[1], keepdims=True)
    return {"negative": relax.op.negative, "permute_dims": relax.op.permute_dims}.get(
        name, relax.op.tanh
    )(a)


_QUICK = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    "derandomize": True,
}


@settings(max_examples=40, **_QUICK)
@given(graphs())
def test_random_graphs_return_the_same_names(before: tvm.IRModule) -> None:
    check(before, planned(before))


def _answers(mod: tvm.IRModule, *inputs: np.ndarray) -> list[bytes]:
    rest = tvm.transform.Sequential(cpu.finalize_passes(LLVM)[1:])
    machine = relax.VirtualMachine(tvm.compile(mod, LLVM, relax_pipeline=rest), tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [r.numpy().tobytes() for r in ([result] if hasattr(result, "numpy") else result)]


def _same_answers(before: tvm.IRModule, after: tvm.IRModule, *inputs: np.ndarray) -> None:
    assert _answers(before, *inputs) == _answers(after, *inputs)


@settings(max_examples=5, **_QUICK)
@given(graphs())
def test_random_graphs_compute_the_same_numbers(before: tvm.IRModule) -> None:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
    _same_answers(before, planned(before), x)


@pytest.mark.parametrize("text", [CHAIN, RESIDUAL, PACKED], ids=["chain", "residual", "packed"])
def test_modules_compute_the_same_numbers(text: str) -> None:
    before = module(text)
    x = np.random.default_rng(0).standard_normal((16, 16)).astype("float32")
    _same_answers(before, planned(before), x)


@pytest.mark.parametrize("go", [True, False])
def test_branches_compute_the_same_numbers(go: bool) -> None:
    before = module(IF)
    x = np.random.default_rng(0).standard_normal((16, 16)).astype("float32")
    _same_answers(before, planned(before), x, np.array(go))


def test_bounded_dims_compute_the_same_numbers() -> None:
    attr = 'R.func_attr({"tir_var_upper_bound": {"n": 100}})'
    before = module(SYMBOLIC.format(attr=attr))
    for n in (1, 100):
        x = np.random.default_rng(0).standard_normal((n, 16)).astype("float32")
        _same_answers(before, planned(before), x)


@pytest.mark.parametrize("name", ["mlptiny_kws_int8", "dtln_1", "tree_ensemble", "policy_go2_apg"])
def test_models_compute_the_same_numbers(shared: Path, name: str) -> None:
    folder = shared / "models"
    if not (folder / name / "model.onnx").is_file():
        pytest.skip(f"{folder / name} is not there")
    entry = next(e for e in json.loads((folder / "INDEX.json").read_text()) if e["name"] == name)
    imported = from_onnx(folder / name / "model.onnx", entry["cases"][0]["input_shapes"])
    cases = (folder / name / entry["cases"][0]["dir"]).glob("input_*.pb")
    given = {t.name: onnx.numpy_helper.to_array(t) for t in map(onnx.load_tensor, cases)}
    before = _lowered(imported.mod)
    after = planned(before)
    stock = relax.transform.StaticPlanBlockMemory()(before)
    assert allocated(after["main"]).known < allocated(stock["main"]).known
    _same_answers(stock, after, *[given[port.name] for port in imported.inputs])
