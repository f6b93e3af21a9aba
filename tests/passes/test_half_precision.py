"""HalfPrecision: what is computed in f16 and what in f32, and that ports and numbers stay."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import tvm
from tvm import relax

from tvm_megcc.frontend import from_onnx
from tvm_megcc.passes import FoldConstants, HalfPrecision, HoldCasts
from tvm_megcc.passes.half_precision import narrowed, wide_machine
from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import region_of

from . import support

op = relax.op
RNG = np.random.default_rng(0)


def weights(*shape: int) -> relax.Expr:
    return relax.const(RNG.standard_normal(shape).astype("float32"))


def _dtype(var: relax.Var) -> str:
    fields = var.ty.fields if isinstance(var.ty, relax.TupleType) else [var.ty]
    return str(fields[0].dtype)


def computed(mod: tvm.IRModule) -> list[str]:
    """Operators of ``main`` with the types of their results, conversions left out."""
    return [
        f"{op_name(b.value).removeprefix('relax.').removeprefix('nn.')} {_dtype(b.var)}"
        for block in mod["main"].body.blocks
        for b in block.bindings
        if op_name(b.value) not in ("", "relax.astype")
    ]


CASES = {
    "convolution, bias and activation": (
        lambda x: op.nn.relu(op.add(op.nn.conv2d(x, weights(4, 3, 1, 1)), weights(1, 4, 1, 1))),
        [(1, 3, 5, 5)], ["conv2d float16", "add float16", "relu float16"]),
    "what comes before the first product": (
        lambda x, y: op.matmul(op.subtract(x, y), weights(3, 2)), [(2, 3), (2, 3)],
        ["subtract float32", "matmul float16"]),
    "sensitive operators, and what is made of them alone": (
        lambda x: op.add(op.exp(op.matmul(x, weights(3, 3))), relax.const(1.0)), [(2, 3)],
        ["matmul float16", "exp float32", "add float32"]),
    "f32 that meets f16": (
        lambda x, y: op.multiply(op.matmul(x, y), op.sum(op.matmul(x, y), 1, keepdims=True)),
        [(2, 3), (3, 2)],
        ["matmul float16", "matmul float16", "sum float32", "multiply float16"]),
    "mean over pixels": (
        lambda x: op.nn.softmax(op.mean(op.nn.conv2d(x, weights(4, 3, 1, 1)), [2, 3])),
        [(1, 3, 5, 5)], ["conv2d float16", "mean float32", "softmax float32"]),
    "mean over pixels for a product": (
        lambda x: op.matmul(
            op.reshape(op.mean(op.nn.conv2d(x, weights(4, 3, 1, 1)), [2, 3], True), [1, 4]),
            weights(4, 2)),
        [(1, 3, 5, 5)], ["conv2d float16", "mean float16", "reshape float16", "matmul float16"]),
    "operands in a tuple": (
        lambda x: op.concat([op.matmul(x, weights(3, 3)), x], 1), [(2, 3)],
        ["matmul float16", "concat float16"]),
    "fields of a result": (
        lambda x: op.split(op.matmul(x, weights(3, 4)), 2, 1)[1], [(2, 3)],
        ["matmul float16", "split float16"]),
    "a sum with f32, rounded once": (
        lambda x: op.add(op.matmul(x, weights(3, 3)), x), [(2, 3)],
        ["matmul float16", "add float32"]),
    "a sum with what f16 does not hold": (
        lambda x: op.nn.softmax(op.add(op.matmul(x, weights(3, 3)), relax.const(-1e9))), [(2, 3)],
        ["matmul float16", "add float32", "softmax float16"]),
    "what a choice hands on of it": (
        lambda x: op.add(
            op.where(op.greater(x, relax.const(9.0)), relax.const(-1e9),
                     op.matmul(x, weights(3, 3))),
            op.matmul(x, weights(3, 3))),
        [(2, 3)],
        ["greater bool", "matmul float16", "where float16", "matmul float16", "add float32"]),
    "no product": (lambda x: op.nn.relu(x), [(2, 3)], ["relu float32"]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_types_follow_the_rules_and_numbers_stay(name: str) -> None:
    body, shapes, expected = CASES[name]
    before = support.build(body, *shapes)
    after = HalfPrecision("fp16")(before)
    assert computed(after) == expected
    signature = after["main"]
    assert [str(p.ty.dtype) for p in signature.params] == ["float32"] * len(shapes)
    given = [np.random.default_rng(1).uniform(-1, 1, s).astype("float32") for s in shapes]
    after = HoldCasts()(after)
    for want, got in zip(support.run(before, *given), support.run(after, *given), strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-2)


def test_finite_constants_stay_finite() -> None:
    array = np.array([1e9, -3.4e38, np.inf, -np.inf, np.nan, 0.1], np.float32)
    want = np.array([65504, -65504, np.inf, -np.inf, np.nan, 0.1], np.float16)
    np.testing.assert_array_equal(narrowed(array), want)


@pytest.mark.parametrize("fill", [1e30, -3.4e38, -np.inf, 0.1])
def test_a_fill_value_is_narrowed_as_constants_are(fill: float) -> None:
    """It is an attribute, and TVM takes none that is beyond f16."""

    def body(x: relax.Expr) -> relax.Expr:
        return op.nn.pad(op.matmul(x, weights(3, 2)), [1, 0, 0, 1], "constant", fill)

    after = HalfPrecision("fp16")(support.build(body, (2, 3)))
    assert computed(after) == ["matmul float16", "pad float16"]
    (found,) = support.run(after, np.ones((2, 3), np.float32))
    assert found[0, 0] == found[1, 2] == narrowed(np.float32(fill))


def test_a_constant_is_narrowed_where_it_stands() -> None:
    mod = support.build(lambda x: op.matmul(x, weights(3, 2)), (2, 3))
    (call,) = [
        b.value for b in HalfPrecision("fp16")(mod)["main"].body.blocks[0].bindings
        if op_name(b.value) == "relax.matmul"
    ]  # fmt: skip
    assert call.args[1].value.numpy().dtype == np.float16


@pytest.mark.parametrize("precision", ["fp32", "model"])
def test_other_precisions_leave_a_module_in_f32(precision: str) -> None:
    mod = support.build(lambda x: op.matmul(x, weights(3, 2)), (2, 3))
    assert HalfPrecision(precision)(mod).same_as(mod)


def test_of_a_model_in_f16_the_named_values_stay_in_f32() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        wide = op.astype(op.astype(x, "float16"), "float32")
        return op.add(op.matmul(wide, weights(3, 2)), relax.const(1.0))

    mod = support.build(body, (2, 3))
    assert computed(HalfPrecision("model")(half.marked(mod, half.Said(frozenset())))) == [
        "matmul float16", "add float16",
    ]  # fmt: skip
    named = [b.var.name for b in mod["main"].body.blocks[0].bindings if "matmul" in str(b.value.op)]
    assert (
        computed(HalfPrecision("model")(half.marked(mod, half.Said(frozenset(named)))))[0]
        == "matmul float32"
    )


def test_of_a_model_in_f16_what_the_rules_keep_in_f32_widens_no_weights() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        wide = op.astype(op.astype(x, "float16"), "float32")
        return op.matmul(op.exp(op.matmul(wide, weights(3, 3))), weights(3, 2))

    after = HalfPrecision("model")(half.marked(support.build(body, (2, 3)), half.Said(frozenset())))
    assert computed(after) == ["matmul float16", "exp float32", "matmul float16"]


def test_of_a_model_in_f16_tables_and_what_multiplies_integers_stay_in_f16() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        rows = op.take(weights(5, 3), op.astype(x, "int32"), axis=0)
        return op.add(
            op.matmul(rows, weights(3, 2)),
            op.matmul(op.astype(op.astype(x, "int32"), "float32"), weights(3, 2)),
        )

    mod = half.marked(support.build(body, (3,)), half.Said(frozenset()))
    after = computed(HalfPrecision("model")(mod))
    assert [a for a in after if "take" in a or "matmul" in a] == [
        "take float16", "matmul float16", "matmul float16",
    ]  # fmt: skip


@pytest.mark.parametrize(("held", "dtype"), [(True, "float16"), (False, "float32")])
def test_of_a_model_in_f16_a_table_of_which_integers_choose_is_f16(held: bool, dtype: str) -> None:
    table = np.arange(6, dtype="float32").reshape(2, 3) / (4 if held else 3)

    def body(x: relax.Expr) -> relax.Expr:
        return op.where(op.greater(x, relax.const(0.0)), relax.const(table), relax.const(0.0))

    after = HalfPrecision("model")(half.marked(support.build(body, (2, 3)), half.Said(frozenset())))
    assert computed(after) == ["greater bool", f"where {dtype}"]


@pytest.mark.parametrize(("precision", "kept"), [("fp16", False), ("model", True)])
def test_conversions_are_held_only_where_the_model_has_no_f16(precision: str, kept: bool) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        half_of = relax.const(np.eye(3, dtype="float32") / 2)
        return op.concat([op.matmul(x, half_of), op.add(x, x)], 1)

    mod = support.build(body, (2, 3))
    if kept:
        mod = half.marked(mod, half.Said(frozenset()))
    after = HoldCasts()(HalfPrecision(precision)(mod))
    (got,) = support.run(after, np.full((2, 3), 4e4, np.float32))
    assert ("clip float32" in computed(after)) is not kept
    assert np.isfinite(got).all() is np.bool_(not kept)


@pytest.mark.parametrize(("scale", "stored"), [(0.125, "float16"), (0.1, "float32")])
def test_quantised_weights_are_f16_where_their_product_is(scale: float, stored: str) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        packed = relax.const(RNG.integers(-8, 8, (2, 3)).astype("int8"))
        given = relax.const(np.float32(scale)), relax.const(np.int8(0))
        return op.matmul(x, op.permute_dims(op.dequantize(packed, *given, axis=1)))

    after = HalfPrecision("fp16")(support.build(body, (2, 3)))
    assert computed(after) == ["dequantize float16", "permute_dims float16", "matmul float16"]
    (call,) = [
        b.value for b in after["main"].body.blocks[0].bindings
        if op_name(b.value) == "relax.dequantize"
    ]  # fmt: skip
    assert str(call.args[1].ty.dtype) == stored


def test_a_function_that_is_called_keeps_its_types() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(op.matmul(x, weights(3, 3)))
            z = builder.emit_te(lambda a: tvm.topi.tanh(a), y)
            out = builder.emit_output(op.nn.relu(op.matmul(z, weights(3, 3))))
        builder.emit_func_output(out)
    after = HalfPrecision("fp16")(builder.get())
    assert "call_tir float32" in computed(after)
    x = np.ones((2, 3), np.float32)
    for want, got in zip(support.run(builder.get(), x), support.run(after, x), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-2)


def test_wide_machine_is_the_one_without_f16_arithmetic() -> None:
    assert wide_machine("arm64+dotprod+fp16") == "arm64+dotprod"
    assert wide_machine("x86+avx2") == "x86+avx2"


def recurrent(steps: int) -> tvm.IRModule:
    """A GRU of more steps than are unrolled."""
    value = onnx.helper.make_tensor_value_info
    sizes = {"w": (1, 12, 3), "r": (1, 12, 4), "b": (1, 24)}
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("GRU", ["x", "w", "r", "b"], ["y"], hidden_size=4)],
        "recurrent",
        [value("x", onnx.TensorProto.FLOAT, [steps, 2, 3])],
        [value("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(RNG.standard_normal(s).astype("float32"), n)
         for n, s in sizes.items()],
    )  # fmt: skip
    opset = onnx.helper.make_opsetid("", 17)
    return from_onnx(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)).mod


@pytest.mark.slow
def test_rows_of_a_loop_are_f16_and_its_states_f32() -> None:
    mod = tvm.transform.Sequential(
        [relax.transform.ConvertToDataflow(min_size=1), FoldConstants()]
    )(recurrent(12))
    after = HalfPrecision("fp16")(mod)
    loops = {gvar.name_hint: region_of(func) for gvar, func in after.functions_items()}
    (name,) = (n for n, region in loops.items() if region and not n.endswith("_next"))
    body = after[loops[name].body]
    assert [str(p.ty.dtype) for p in body.params] == ["int64", "float32", "float16"]
    assert [str(f.ty.dtype) for f in body.body.body.fields] == ["float32", "float16"]
    assert sorted(g.name_hint for g in after.get_global_vars()) == sorted(
        g.name_hint for g in mod.get_global_vars()
    )
    x = np.random.default_rng(1).uniform(-1, 1, (12, 2, 3)).astype("float32")
    for want, got in zip(support.run(mod, x), support.run(after, x), strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, atol=1e-2)


def test_quantised_weights_whose_product_the_model_has_in_f32_stay_so() -> None:
    """Also where a bias comes between the product and the value that the model names."""

    def body(x: relax.Expr) -> relax.Expr:
        packed = relax.const(RNG.integers(-8, 8, (3, 2)).astype("int8"))
        scale, zero = relax.const(np.float32(0.1)), relax.const(np.int8(0))
        return op.add(op.matmul(x, op.dequantize(packed, scale, zero, 1)), relax.const(1.0))

    mod = support.build(body, (2, 3))
    said = half.Said(frozenset({mod["main"].body.blocks[-1].bindings[-1].var.name}))
    after = HalfPrecision("model")(half.marked(mod, said))
    assert "float16" not in " ".join(computed(after))
