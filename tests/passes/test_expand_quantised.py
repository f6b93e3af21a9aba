"""ExpandQuantised: a quantised operator is one call until then, and nothing of it stays."""

from __future__ import annotations

import numpy as np
import onnx
import tvm
from onnx import TensorProto as T
from onnx import helper
from tvm import relax

from tests.frontend.running import run
from tests.ops.cases import Weight, node_model, rand
from tests.ops.packages import model
from tvm_megcc.frontend import from_onnx
from tvm_megcc.passes import ExpandQuantised
from tvm_megcc.relax_tools.composite import Operator, call, operator_of
from tvm_megcc.relax_tools.control_flow import Functions, plain_functions

ADD = Operator("com.microsoft", "Sum", (0, 2), {"axis": 1})


def add(builder: relax.BlockBuilder, functions: Functions, *operands: relax.Expr) -> relax.Expr:
    """A call of a composite that adds two operands, the second one doubled."""
    params = [relax.Var(f"x{k}", operand.ty) for k, operand in enumerate(operands)]
    inner = relax.BlockBuilder()
    with inner.function("made", params):
        with inner.dataflow():
            twice = inner.emit(relax.op.add(params[1], params[1]))
            result = inner.emit_output(relax.op.add(params[0], twice))
        inner.emit_func_output(result)
    return call(builder, functions, ADD, inner.get()["made"], operands)


def before(rows: int | str, second: np.ndarray | None = None) -> tvm.IRModule:
    dim = tvm.tirx.Var(rows, "int64") if isinstance(rows, str) else rows
    x, y = (relax.Var(n, relax.TensorType([dim, 3], "float32")) for n in "xy")
    builder, functions = relax.BlockBuilder(), Functions()
    with builder.function("main", [x, y] if second is None else [x]):
        with builder.dataflow():
            other = y if second is None else relax.const(second)
            out = builder.emit_output(add(builder, functions, x, other))
        builder.emit_func_output(out)
    mod = builder.get()
    functions.into(mod)
    return mod


def expected(rows: int | str, second: np.ndarray | None = None) -> tvm.IRModule:
    dim = tvm.tirx.Var(rows, "int64") if isinstance(rows, str) else rows
    x, y = (relax.Var(n, relax.TensorType([dim, 3], "float32")) for n in "xy")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y] if second is None else [x]):
        with builder.dataflow():
            other = y if second is None else relax.const(second)
            twice = builder.emit(relax.op.add(other, other))
            out = builder.emit_output(relax.op.add(x, twice))
        builder.emit_func_output(out)
    return builder.get()


def composites(mod: tvm.IRModule) -> list[Operator]:
    found = [operator_of(func) for _, func in plain_functions(mod)]
    return [operator for operator in found if operator is not None]


def test_a_call_becomes_the_body() -> None:
    for rows in (2, "n"):
        mod = before(rows)
        assert composites(mod) == [ADD]
        tvm.ir.assert_structural_equal(ExpandQuantised()(mod), expected(rows))


def test_a_constant_may_be_an_argument() -> None:
    value = rand(2, 3)
    mod = ExpandQuantised()(before(2, value))
    tvm.ir.assert_structural_equal(mod, expected(2, value))


def test_a_module_without_composites_stays() -> None:
    mod = expected(2)
    assert ExpandQuantised()(mod).same_as(mod)


def test_a_node_is_a_call_with_its_attributes() -> None:
    operands = [rand(1, 2, 5, 5, dtype="uint8"), Weight(rand(3, 2, 3, 3, seed=1, dtype="int8")),
                None, Weight(np.int8(2))]  # fmt: skip
    proto, feeds = node_model("ConvInteger", operands, 10, pads=[1, 1, 1, 1], strides=[2, 1])
    imported = from_onnx(proto)
    (found,) = composites(imported.mod)
    assert found == Operator("", "ConvInteger", (0, 1, 3), {"pads": [1] * 4, "strides": [2, 1]})
    plain = ExpandQuantised()(imported.mod)
    assert composites(plain) == []
    want = run(imported, feeds)
    imported.mod.update(plain)
    np.testing.assert_array_equal(run(imported, feeds), want)


def test_nodes_in_branches_and_loops_are_expanded() -> None:
    def branch(name: str, node: str) -> onnx.GraphProto:
        body = helper.make_node(node, ["a", "b"], [name])
        result = helper.make_tensor_value_info(name, T.INT32, None)
        return helper.make_graph([body], name, [], [result])

    choice = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "MatMulInteger"),
        else_branch=branch("e", "MatMulInteger"),
    )  # fmt: skip
    state = [helper.make_tensor_value_info(n, t, s) for n, t, s in
             (("i", T.INT64, []), ("go", T.BOOL, []), ("s", T.INT32, [3, 3]))]  # fmt: skip
    nodes = [helper.make_node("Identity", ["go"], ["go_on"]),
             helper.make_node("MatMulInteger", ["a", "b"], ["m"]),
             helper.make_node("Add", ["m", "s"], ["s_next"])]  # fmt: skip
    ends = [helper.make_tensor_value_info(n, t, None) for n, t in
            (("go_on", T.BOOL), ("s_next", T.INT32))]  # fmt: skip
    again = helper.make_node(
        "Loop", ["n", "", "y"], ["z"], body=helper.make_graph(nodes, "l", state, ends)
    )
    inputs = [("a", T.UINT8, [3, 3]), ("b", T.INT8, [3, 3]), ("c", T.BOOL, []), ("n", T.INT64, [])]
    mod = from_onnx(model([choice, again], inputs, [("z", T.INT32)])).mod
    assert [found.name for found in composites(mod)] == ["MatMulInteger"] * 3
    assert composites(ExpandQuantised()(mod)) == []
