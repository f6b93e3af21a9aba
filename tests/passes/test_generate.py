"""Generate: calls of TIR functions before, calls of kernels with their C text after."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx, topi
from tvm.script import tirx as T

from tests.passes.support import build
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.passes import Generate, MaterialiseKernels
from tvm_megcc.relax_tools.kernel_calls import kernels_of, with_kernels

op = relax.op
Builder = relax.BlockBuilder


def dim(name: str) -> tirx.Var:
    return tirx.Var(name, "int64")


def function(builder: Builder, shape: tuple, body, *more: relax.Var) -> tvm.IRModule:  # noqa: ANN001
    """``main`` of one float32 tensor `shape`, and `more`, whose value `body` emits."""
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x, *more]):
        with builder.dataflow():
            out = builder.emit_output(body(builder, x))
        builder.emit_func_output(out)
    return builder.get()


def generated(before: tvm.IRModule, **options: list[str]) -> tvm.IRModule:
    after = Generate(**options)(before)
    relax.analysis.well_formed(after)
    return after


def expected(after: tvm.IRModule, shape: tuple, call) -> tvm.IRModule:  # noqa: ANN001
    """``main`` as `call` builds it of the one symbol that the module has; with its kernels."""
    (kernel,) = kernels_of(after).values()
    wanted = function(Builder(), shape, lambda _, x: call(kernel.symbol, x))
    return with_kernels(wanted, [kernel])


def kernel_call(symbol: str, x: relax.Var, attrs: list, extent: list, ty: object) -> relax.Call:
    sizes = [relax.ShapeExpr(attrs), relax.ShapeExpr(extent)]
    return op.call_dps_packed(symbol, [x, *sizes], ty)


def test_a_tir_function_becomes_a_kernel() -> None:
    before = function(Builder(), (4, 8), lambda b, x: b.call_te(topi.exp, x))
    after = generated(before)
    ty = relax.TensorType((4, 8), "float32")
    wanted = expected(after, (4, 8), lambda symbol, x: kernel_call(symbol, x, [], [32, 0, 24], ty))
    tvm.ir.assert_structural_equal(after, wanted)
    (kernel,) = kernels_of(after).values()
    assert kernel.symbol.startswith("megcc_tir_exp_") and kernel.inplace == (0,)
    assert kernel.template == "" and f"void {kernel.symbol}(" in kernel.source


def test_its_dims_are_attributes() -> None:
    n, m = dim("n"), dim("m")
    before = function(Builder(), (n, m), lambda b, x: b.call_te(topi.exp, x))
    after = generated(before)
    ty = relax.TensorType((n, m), "float32")
    wanted = expected(
        after, (n, m), lambda symbol, x: kernel_call(symbol, x, [n, m], [m * n, 0, 24], ty)
    )
    tvm.ir.assert_structural_equal(after, wanted)


def test_a_number_that_it_takes_is_an_attribute() -> None:
    n, m = dim("n"), dim("m")

    def body(builder: Builder, x: relax.Var) -> relax.Expr:
        return op.add(builder.emit(op.arange(m, m + n, 1, "float32")), x)

    shape = relax.Var("shape", relax.ShapeType([m]))
    before = relax.transform.LegalizeOps()(function(Builder(), (n,), body, shape))
    after = generated(before)
    ramp, _ = (b.value for b in after["main"].body.blocks[0].bindings)
    attrs, _ = ramp.args[1].fields
    assert sorted(str(a) for a in attrs.values) == ["m", "n"]


def test_every_result_is_written_by_one_call() -> None:
    def halves(x: tvm.te.Tensor) -> list[tvm.te.Tensor]:
        return topi.split(x, 2, axis=1)

    before = function(Builder(), (4, 8), lambda b, x: b.call_te(halves, x))
    ty = before["main"].ret_ty
    after = generated(before)
    tvm.ir.assert_structural_equal(after["main"].ret_ty, ty)
    (kernel,) = kernels_of(after).values()
    (binding,) = after["main"].body.blocks[0].bindings
    assert len(binding.value.ty.fields) == 2
    assert str(binding.value.args[0].global_symbol) == kernel.symbol


def test_a_value_that_is_cast_at_once() -> None:
    n, m = dim("n"), dim("m")
    before = function(Builder(), (n,), lambda b, x: b.call_te(topi.exp, x))
    (binding,) = before["main"].body.blocks[0].bindings
    cast = relax.Var("cast", relax.TensorType((m,), "float32"))
    body = relax.SeqExpr(
        [relax.BindingBlock([relax.MatchCast(cast, binding.value, cast.ty)])], cast
    )
    params, attrs = before["main"].params, before["main"].attrs
    before.update_func(
        before.get_global_var("main"), relax.Function(params, body, cast.ty, attrs=attrs)
    )
    after = generated(before)
    (binding,) = after["main"].body.blocks[0].bindings
    assert isinstance(binding, relax.MatchCast)
    (symbol,) = kernels_of(after)
    assert str(binding.value.args[0].global_symbol) == symbol


def test_equal_functions_are_one_kernel() -> None:
    def body(builder: Builder, x: relax.Var) -> relax.Expr:
        return builder.emit_te(topi.exp, builder.emit_te(topi.exp, x, primfunc_name_hint="exp"))

    after = generated(function(Builder(), (4,), body))
    assert len(kernels_of(after)) == 1
    assert all(isinstance(f, relax.Function) for f in after.functions.values())


def test_kernels_of_the_library_stay() -> None:
    matmul = MaterialiseKernels("portable")(
        build(lambda a, b: op.cosh(op.matmul(a, b)), (4, 8), (8, 2))
    )
    before = relax.transform.LegalizeOps()(matmul).with_attrs(matmul.attrs)
    after = generated(before)
    assert kernels_of(before).items() < kernels_of(after).items()
    first, second = after["main"].body.blocks[0].bindings
    tvm.ir.assert_structural_equal(
        first.value, before["main"].body.blocks[0].bindings[0].value, map_free_vars=True
    )
    assert len(second.value.args[1].fields) == 3


@pytest.mark.parametrize("body", [op.nn.relu, lambda x: op.memory.view(x, relax.ShapeExpr([32]))])
def test_a_module_without_tir_stays(body) -> None:  # noqa: ANN001
    before = MaterialiseKernels("portable")(build(body, (4, 8)))
    tvm.ir.assert_structural_equal(Generate()(before), before)


@T.prim_func(private=True, s_tir=True)
def outside(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("y"):
            v = T.axis.spatial(4, i)
            y[v] = T.call_extern("float32", "frobnicate", x[v])


def test_what_no_entry_reaches_is_no_error() -> None:
    builder = Builder()
    callee = builder.add_func(outside, "outside")
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("other", [x]):
        builder.emit_func_output(builder.emit(op.call_tir(callee, (x,), x.ty)))
    before = function(builder, (4,), lambda b, x: b.call_te(topi.exp, x))
    after = generated(before, entries=["main"])
    assert "call_tir" not in after["main"].script() and len(kernels_of(after)) == 1
    tvm.ir.assert_structural_equal(after["other"], before["other"])
    tvm.ir.assert_structural_equal(after["outside"], before["outside"])
    with pytest.raises(UnsupportedError, match="frobnicate"):
        Generate()(before)
    with pytest.raises(UnsupportedError, match="frobnicate"):
        Generate(["other"])(before)


def test_a_size_that_nothing_says() -> None:
    k = dim("k")

    @T.prim_func(private=True, s_tir=True)
    def loops(x: T.Buffer((4, 4), "float32"), a: T.handle):
        m = T.int64()
        y = T.match_buffer(a, (m * 2,), "float32")
        for i in range(m * 2):
            with T.sblock("y"):
                v = T.axis.spatial(m * 2, i)
                y[v] = x[0, 0]

    builder = Builder()
    callee = builder.add_func(loops, "loops")
    ty = relax.TensorType((k * 2,), "float32")
    before = function(builder, (k, 4), lambda b, x: op.call_tir(callee, (x,), ty))
    with pytest.raises(UnsupportedError, match="the size 'm' of its loops follows from no operand"):
        Generate()(before)
