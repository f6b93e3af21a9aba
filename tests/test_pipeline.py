"""From a Relax module to a planned `Program`: what lowering makes of each kind of value."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import build
from tvm_megcc.core.program import Program, sized
from tvm_megcc.dims import Symbol, at
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.memory import problem_of
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.pipeline import compile_module

RNG = np.random.default_rng(0)


def _const(*shape: int) -> relax.Expr:
    return relax.const(RNG.standard_normal(shape).astype("float32"))


def _program(mod: tvm.IRModule, outputs: int = 1, arch: str = "portable") -> Program:
    names = [f"x{i}" for i in range(len(mod["main"].params))]
    return compile_module(
        mod, arch, name="m", input_names=names, output_names=[f"y{i}" for i in range(outputs)]
    )


def test_conv_bias_relu_is_one_call() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        conv = relax.op.nn.conv2d(relax.op.permute_dims(x, [0, 3, 1, 2]), _const(4, 3, 3, 3))
        y = relax.op.nn.relu(relax.op.add(conv, _const(1, 4, 1, 1)))
        return relax.op.permute_dims(y, [0, 2, 3, 1])

    program = _program(build(body, (1, 6, 6, 3)))
    assert len(program.calls) == 1
    assert program.kernels[0].template.startswith("conv2d_nhwc_f32")
    assert dict(program.kernels[0].defines)["ACT"] == "1"


@pytest.mark.parametrize("arch", ["portable", "arm64", "armv7", "x86"])
def test_pipeline_is_deterministic(arch: str) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = relax.op.nn.conv2d(x, relax.const(np.ones((4, 3, 3, 3), "float32")))
        return relax.op.nn.softmax(relax.op.exp(relax.op.sin(relax.op.add(y, y))), axis=1)

    assert _program(build(body, (1, 3, 6, 6)), arch=arch) == _program(
        build(body, (1, 3, 6, 6)), arch=arch
    )


def test_reshapes_and_leading_slices_cost_no_call() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = relax.op.exp(x)
        tail = relax.op.strided_slice(y, [0], [2], [4])
        return relax.op.reshape(relax.op.squeeze(relax.op.expand_dims(tail, 0), 0), (6,))

    program = _program(build(body, (4, 3)))
    assert len(program.calls) == 1
    output = program.tensors[program.outputs[0].tensor]
    source = program.tensors[program.calls[0].operands[-1]]
    assert output.shape == (6,)
    assert output.location.offset == source.location.offset + 2 * 3 * 4


def test_a_slice_that_is_not_contiguous_is_a_call() -> None:
    program = _program(build(lambda x: relax.op.strided_slice(x, [1], [1], [3]), (4, 3)))
    assert len(program.calls) == 1


def test_input_passed_through_and_output_returned_twice() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = relax.op.exp(x)
        return relax.Tuple([y, x, y])

    program = _program(build(body, (3,)), outputs=3)
    assert [p.tensor for p in program.outputs][1] == program.inputs[0].tensor
    assert program.outputs[0].tensor == program.outputs[2].tensor


def test_equal_constants_are_stored_once() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        one = relax.op.matmul(x, relax.const(np.eye(5, dtype="float32")))
        return relax.op.matmul(one, relax.const(np.eye(5, dtype="float32")))

    assert len(_program(build(body, (5, 5))).weights) == 1


def test_storages_of_the_program_do_not_overlap() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = relax.op.nn.conv2d(x, _const(4, 3, 3, 3), padding=1)
        z = relax.op.nn.conv2d(relax.op.nn.relu(y), _const(4, 4, 3, 3), padding=1)
        return relax.op.concat([relax.op.add(y, z), z], axis=1)

    program = _program(build(body, (1, 3, 8, 8)))
    assert program.arena_bytes is not None
    naive = sum(t.nbytes for t in program.tensors if t.location.space == "arena")
    assert 0 < program.arena_bytes < naive
    problem, _ = problem_of(program)
    assert problem.intervals


def test_dumps_name_every_stage() -> None:
    seen: dict[str, str] = {}
    mod = build(lambda x: relax.op.exp(x), (3,))
    compile_module(
        mod, "portable", name="m", input_names=["x"], output_names=["y"], dump_ir=seen.__setitem__
    )
    assert list(seen) == [
        "imported", "canonicalise", "layout", "forward_memory", "materialise", "generate",
        "lowered", "forwarded", "planned",
    ]  # fmt: skip
    assert "call_dps_packed" in seen["materialise"]


def _symbolic(body, bounds: dict[str, tuple[int, int]] | None = None) -> Program:  # noqa: ANN001
    """``main(x: (n, 4))`` with these bounds, compiled."""
    n = tvm.tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(body(builder, x)))
    mod = builder.get()
    for k, key in enumerate(("tir_var_lower_bound", "tir_var_upper_bound")):
        if bounds:
            func = mod["main"].with_attr(key, {d: b[k] for d, b in bounds.items()})
            mod.update_func(mod.get_global_var("main"), func)
    return _program(mod)


def test_sizes_of_a_symbolic_program_are_expressions() -> None:
    program = _symbolic(lambda builder, x: relax.op.exp(x))
    (call,) = program.calls
    assert program.symbols == (Symbol("n"),)
    assert str(program.tensors[call.operands[0]].nbytes) == "16*n"
    assert at(call.work, {"n": 3}) == 12
    assert program.arena_bytes is None
    assert program.plan is None


def test_sized_is_the_program_of_that_size() -> None:
    def body(builder: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        return relax.op.nn.softmax(builder.emit(relax.op.exp(x)))

    fixed = _program(build(lambda x: relax.op.nn.softmax(relax.op.exp(x)), (5, 4)))
    found = sized(_symbolic(body), {"n": 5})
    assert [(c.attrs, c.work) for c in found.calls] == [(c.attrs, c.work) for c in fixed.calls]
    assert [t.shape for t in found.tensors] == [t.shape for t in fixed.tensors]


def test_bounds_reach_the_symbols() -> None:
    program = _symbolic(lambda builder, x: relax.op.exp(x), {"n": (2, 9)})
    assert program.symbols == (Symbol("n", 2, 9),)


def test_what_must_be_equal_is_required() -> None:
    def body(builder: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
        twice = builder.emit(relax.op.concat([x, x], axis=0))
        n = x.ty.shape.values[0]
        return builder.match_cast(twice, relax.TensorType((n // 3 * 3, 4), "float32"))

    (required,) = _symbolic(body).requirements
    assert (str(required.a), str(required.b)) == ("2*n", "3*(n//3)")
    with pytest.raises(UnsupportedError, match=r"never equal \(from input 'x0', dim 0\)"):
        _symbolic(
            lambda b, x: b.match_cast(x, relax.TensorType((x.ty.shape.values[0] + 1, 4), "float32"))
        )


def test_a_limit_needs_fixed_shapes() -> None:
    n = tvm.tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    with pytest.raises(InputError, match="--input-shapes"):
        compile_module(
            builder.get(), "portable", name="m", input_names=["x"], output_names=["y"],
            memory_options=MemoryOptions(limit=1000),
        )  # fmt: skip
