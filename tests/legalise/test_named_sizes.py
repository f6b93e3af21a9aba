"""NameSizes and WriteSizes: sizes have names while kernels are generated, and only then."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx

from tests.passes.support import run
from tvm_megcc import dims
from tvm_megcc.legalise import LegaliseRest
from tvm_megcc.legalise.named_sizes import NameSizes, WriteSizes
from tvm_megcc.relax_tools.shape_exprs import definitions_of, symbols_of, with_bounds

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")


def module(*sizes: tvm.ir.Expr, make: str = "make") -> tvm.IRModule:
    """For each size, ``main`` computes ``exp(-t) * t`` of a tensor of size x m elements."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([N, M], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            found = []
            for k, size in enumerate(sizes):
                ty = relax.TensorType([size, M], "float32")
                made = builder.emit(
                    relax.op.call_dps_packed(f"{make}{k}", x, out_ty=ty), f"made{k}"
                )
                power = builder.emit(relax.op.exp(builder.emit(relax.op.negative(made))))
                found.append(builder.emit(relax.op.multiply(power, made), f"product{k}"))
            out = builder.emit_output(relax.Tuple(found))
        builder.emit_func_output(out)
    return builder.get()


def dims_of(mod: tvm.IRModule, name: str) -> list[str]:
    """The dims of a value, as text."""
    bindings = [b for block in mod["main"].body.blocks for b in block.bindings]
    (found,) = (b.var.ty.shape.values for b in bindings if b.var.name == name)
    return [str(dim) for dim in found]


def test_equal_sizes_have_one_name() -> None:
    after = NameSizes()(module(N // 5 - 1, (N - 5) // 5, M + 1))
    assert dims_of(after, "product0") == dims_of(after, "product1") == ["size0", "m"]
    assert dims_of(after, "product2") == ["size1", "m"]
    *_, sizes = after["main"].params
    assert [str(v) for v in sizes.ty.values] == ["size0", "size1"]
    assert relax.analysis.check_well_formed(after)


def test_names_stand_for_what_they_were() -> None:
    mod = module(N // 2)
    bounded = with_bounds(mod["main"], [dims.Symbol("n", 4, 9)])
    mod.update_func(mod.get_global_var("main"), bounded)
    size = symbols_of(NameSizes()(mod)["main"])["size0"]
    assert size == dims.symbol("n", 4, 9) // 2 and dims.bounds(size) == (2, 4)  # type: ignore


def test_names_that_are_taken() -> None:
    taken = tirx.Var("size0", "int64")
    mod = module(N // 2)
    main = mod["main"].bind_symbolic_vars({M: taken})
    after = NameSizes()(tvm.IRModule({"main": main}))
    assert dims_of(after, "product0") == ["size1", "size0"]


def test_sizes_of_which_tvm_infers_another_type_stay() -> None:
    """From ``size0`` to ``size1`` is no slice of one element to TVM."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([N], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            both = [relax.op.call_dps_packed("f", x, out_ty=relax.TensorType([d], "float32"))
                    for d in (N // 2 + 1, N // 2 + 2)]  # fmt: skip
            first, second = (builder.emit(call) for call in both)
            one = builder.emit(relax.op.strided_slice(second, [0], [N // 2 + 1], [N // 2 + 2]))
            out = builder.emit_output(relax.Tuple([first, relax.op.exp(one)]))
        builder.emit_func_output(out)
    mod = builder.get()
    assert [int(d) for d in mod["main"].body.blocks[0].bindings[-1].var.ty.fields[1].shape] == [1]
    assert NameSizes()(mod)["main"].same_as(mod["main"])


def test_sizes_that_a_kernel_has_as_expressions_stay() -> None:
    """FuseTIR takes no operand of ``size0`` elements for a buffer of ``n // 2``."""

    def halves(x: te.Tensor) -> te.Tensor:
        return te.compute((x.shape[0] // 2,), lambda i: x[i] + 1, name="halves")

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([N], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            half = builder.emit(relax.op.exp(builder.emit_te(halves, x)))
            ty = relax.TensorType([N // 3], "float32")
            third = builder.emit(relax.op.call_dps_packed("f", x, out_ty=ty))
            third = builder.emit(relax.op.exp(third), "third")
            out = builder.emit_output(relax.Tuple([half, third]))
        builder.emit_func_output(out)
    after = NameSizes()(builder.get())
    assert definitions_of(after["main"], symbols_of(after["main"])).keys() == {"size1"}
    assert dims_of(after, "third") == ["size1"]
    LegaliseRest()(after)


@pytest.mark.parametrize("sizes", [(), (N,)], ids=["none", "a dim itself"])
def test_what_has_no_expressions_stays(sizes: tuple[tirx.Var, ...]) -> None:
    mod = module(*sizes)
    assert NameSizes()(mod)["main"].same_as(mod["main"])
    assert WriteSizes()(mod)["main"].same_as(mod["main"])


def test_functions_that_others_call_stay() -> None:
    mod = module(N // 2)
    main, gvar = mod["main"], mod.get_global_var("main")
    x = relax.Var("x", main.params[0].ty)
    body = relax.SeqExpr([], relax.Call(gvar, [x]))
    caller = relax.Function([x], body, main.ret_ty).with_attr("global_symbol", "caller")
    mod = tvm.IRModule({gvar: main, relax.GlobalVar("caller"): caller})
    assert NameSizes()(mod)["main"].same_as(mod["main"])


def test_written_sizes_are_the_sizes() -> None:
    mod = module(N // 3, N // 6)
    tvm.ir.assert_structural_equal(WriteSizes()(NameSizes()(mod)), mod)


@pytest.mark.parametrize(("named", "kernels"), [(False, 3), (True, 1)])
def test_kernels_are_fused_where_sizes_have_names(named: bool, kernels: int) -> None:
    mod = module(N // 5 - 1)
    after = LegaliseRest()(NameSizes()(mod) if named else mod)
    assert sum(isinstance(f, tirx.PrimFunc) for f in after.functions.values()) == kernels


def test_named_sizes_compute_the_same() -> None:
    @tvm.register_global_func("test_named_sizes.rows0", override=True)
    def rows(x: tvm.runtime.Tensor, y: tvm.runtime.Tensor) -> None:
        y.copyfrom(x.numpy()[: y.shape[0]])

    mod = module(N // 5 - 1, make="test_named_sizes.rows")
    after = WriteSizes()(LegaliseRest()(NameSizes()(mod)))
    x = np.random.default_rng(0).normal(size=(23, 4)).astype(np.float32)
    (got,) = run(after, x)
    np.testing.assert_allclose(got, np.exp(-x[:3]) * x[:3], rtol=1e-6)


def test_checks_stay() -> None:
    """A cast of 2n elements to 3 (n // 3) is a check, also behind TVM's passes."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([N], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            twice = builder.emit(relax.op.concat([x, x], 0))
            cast = builder.match_cast(twice, relax.TensorType([N // 3 * 3], "float32"))
            out = builder.emit_output(relax.op.exp(cast))
        builder.emit_func_output(out)
    after = WriteSizes()(LegaliseRest()(NameSizes()(builder.get())))
    bindings = [b for block in after["main"].body.blocks for b in block.bindings]
    (check,) = (b for b in bindings if isinstance(b, relax.MatchCast))
    tvm.ir.assert_structural_equal(check.ty.shape.values[0], N // 3 * 3)
