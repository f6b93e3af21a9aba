"""Relax modules from anywhere: what is not a model is one sentence, what main calls is compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax

from tvm_megcc import relay
from tvm_megcc.errors import InputError, MegccError, UnsupportedError

F32 = relax.TensorType((4,), "float32")


def module(build: Callable[..., relax.Expr], *types: tvm.ir.Type) -> tvm.IRModule:
    """``main`` of parameters of these types that returns what `build` makes of them."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"p{k}", ty) for k, ty in enumerate(types or (F32,))]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(build(*params)))
        builder.emit_func_output(result)
    return builder.get()


def calling(times: int = 1) -> tvm.IRModule:
    """``main`` calls ``other``, which is ``exp``."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, F32) for name in "xy")
    with builder.function("other", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.exp(x))
        builder.emit_func_output(result)
    other = builder.get().get_global_var("other")
    with builder.function("main", [y]):
        with builder.dataflow():
            value: relax.Expr = y
            for _ in range(times):
                value = builder.emit(relax.Call(other, [value]))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


def recursive() -> tvm.IRModule:
    mod = calling()
    mod[mod.get_global_var("other")] = mod["main"].with_attr("global_symbol", "other")
    return mod


def packed(x: relax.Var) -> relax.Expr:
    return relax.op.call_dps_packed("no.such.function", relax.Tuple([x]), F32)


def returning(x: relax.Var) -> relax.Expr:
    return relax.op.call_pure_packed("no_such_function", x, ty_args=[F32])


#: What is wrong -> the module, the error, words of its sentence.
CASES: dict[str, tuple[Callable[[], tvm.IRModule], type[MegccError], list[str]]] = {
    "extern": (lambda: module(packed), UnsupportedError, ["'no.such.function'", "in C"]),
    "extern_with_memory": (
        lambda: module(returning),
        InputError,
        ["'no_such_function'", "memory of its own", "R.call_dps_packed"],
    ),
    "recursive": (recursive, InputError, ["'other'", "itself"]),
    "shape_parameter": (
        lambda: module(lambda x, s: relax.op.exp(x), F32, relax.ShapeType([4])),
        InputError,
        ["'p1'", "shape"],
    ),
    "shape_in_a_tuple": (
        lambda: module(
            lambda t: relax.op.exp(relax.TupleGetItem(t, 0)),
            relax.TupleType([F32, relax.ShapeType([4])]),
        ),
        InputError,
        ["'p0.1' of main", "shape"],
    ),
    "shape_result": (
        lambda: module(lambda x: relax.Tuple([x, relax.ShapeExpr([4])])),
        InputError,
        ["result 1 of main", "shape"],
    ),
    "nonzero": (lambda: module(relax.op.nonzero), UnsupportedError, ["relax.nonzero", "main"]),
    "unique": (lambda: module(relax.op.unique), UnsupportedError, ["relax.unique", "main"]),
    "type": (
        lambda: module(lambda x: relax.op.add(x, x), relax.TensorType((4,), "float8_e4m3fn")),
        UnsupportedError,
        ["float8_e4m3fn"],
    ),
    "no_dims": (
        lambda: module(relax.op.exp, relax.TensorType(ndim=1, dtype="float32")),
        UnsupportedError,
        ["'p0'"],
    ),
    "print": (
        lambda: module(lambda x: relax.op.print(x, format="{}")),
        MegccError,
        ["print"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_model_is_one_sentence(case: str) -> None:
    make, kind, words = CASES[case]
    with pytest.raises(kind) as caught:
        relay.build(make())
    message = str(caught.value)
    assert all(word in message for word in words) and "\n" not in message, message


@pytest.mark.slow
def test_what_main_calls_is_part_of_it() -> None:
    library = relay.build(calling(times=2))
    m = relay.GraphModule(library["default"](tvm.cpu()))
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    m.set_input(0, x)
    m.run()
    np.testing.assert_allclose(m.get_output(0).numpy(), np.exp(np.exp(x)), rtol=1e-6)


def test_dims_of_one_name_are_two_dims() -> None:
    """TVM tells variables apart by identity; two importers' pieces may both have an ``n``."""
    types = [relax.TensorType((tvm.tirx.Var("n", "int64"), 3), "float32") for _ in range(2)]
    mod = module(lambda x, y: relax.op.concat([x, y], 0), *types)
    mod["main"] = mod["main"].with_attr("tir_var_upper_bound", {"n": 8})
    program = relay.build(mod).program
    assert [(s.name, s.high) for s in program.symbols] == [("n", 8), ("n_1", 8)]
    assert str(program.tensors[program.outputs[0].tensor].shape[0]) == "n + n_1"
