"""ScalarsApart: what takes a dim as an argument is not fused where that would end in an error."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import relax, tirx

from tvm_megcc.legalise import LegaliseRest, ScalarsApart


def product(one_dim: bool) -> tvm.IRModule:
    """0, 1, ... w - 1 times h; or times w."""
    builder = relax.BlockBuilder()
    h, w = (tirx.Var(name, "int64") for name in "hw")
    x = relax.Var("x", relax.TensorType([w] if one_dim else [h, w], "float32"))
    other = w if one_dim else h
    with builder.function("main", [x]):
        with builder.dataflow():
            ramp = relax.op.astype(relax.op.arange(0, w, 1, "int64"), "float32")
            size = relax.op.arange(other, other + 1, 1, "float32")
            result = builder.emit_output(relax.op.multiply(ramp, size))
        builder.emit_func_output(result)
    return builder.get()


def functions(mod: tvm.IRModule) -> list[tirx.PrimFunc]:
    return [f for f in mod.functions.values() if isinstance(f, tirx.PrimFunc)]


def legalised(one_dim: bool) -> tvm.IRModule:
    return relax.transform.AnnotateTIROpPattern()(relax.transform.LegalizeOps()(product(one_dim)))


def test_two_dims_are_compiled() -> None:
    # TVM alone: "Check failed: (VarRemapGet(source) == nullptr) is false".
    assert len(functions(LegaliseRest()(product(one_dim=False)))) == 2


def test_only_what_takes_a_dim_stays_apart() -> None:
    kinds = [int(f.attrs["op_pattern"]) for f in functions(ScalarsApart()(legalised(False)))]
    assert kinds.count(8) == 1


def test_one_dim_is_fused() -> None:
    before = legalised(one_dim=True)
    tvm.ir.assert_structural_equal(ScalarsApart()(before), before)
    assert len(functions(LegaliseRest()(product(one_dim=True)))) == 1


def of_two_dims(
    make: Callable[[relax.BlockBuilder, relax.Var, tirx.Var, tirx.Var], relax.Expr],
) -> tvm.IRModule:
    """A module of what `make` builds of a tensor of h x w."""
    builder = relax.BlockBuilder()
    h, w = (tirx.Var(name, "int64") for name in "hw")
    x = relax.Var("x", relax.TensorType([h, w], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(make(builder, x, h, w))
        builder.emit_func_output(result)
    return builder.get()


def test_what_takes_the_same_dims_is_fused() -> None:
    """Behind a stride every size is computed of h and w, which each function then takes."""

    def make(builder: relax.BlockBuilder, x: relax.Var, *_: tirx.Var) -> relax.Expr:
        every = {"axes": [0, 1], "begin": [0, 0], "end": [1 << 30] * 2, "strides": [2, 2]}
        half = builder.emit(relax.op.strided_slice(x, **every))
        return relax.op.exp(relax.op.tanh(half))

    assert len(functions(LegaliseRest()(of_two_dims(make)))) == 2


def test_a_group_does_not_tell_dims_twice() -> None:
    """One function takes h and w, another one has w in its result's shape alone."""

    def make(builder: relax.BlockBuilder, x: relax.Var, h: tirx.Var, w: tirx.Var) -> relax.Expr:
        ramp = builder.emit(relax.op.arange(0, w, 1, "int64"))
        size = builder.emit(relax.op.arange(h + w, h + w + 1, 1, "int64"))
        return relax.op.add(ramp, size)

    # FuseOps alone: "Check failed: (VarRemapGet(source) == nullptr) is false".
    assert len(functions(LegaliseRest()(of_two_dims(make)))) == 2
