"""LastPosition: one row of a sequence's last layers, equal to the last of all rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax

from tests.passes.support import run
from tvm_megcc import frontend
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.passes import LastPosition
from tvm_megcc.relax_tools.calls import op_name

op = relax.op
WIDTH, VOCABULARY = 6, 5
Body = Callable[..., relax.Expr | list[relax.Expr]]
RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((WIDTH, VOCABULARY)).astype(np.float32)
SQUARE = RNG.standard_normal((WIDTH, WIDTH)).astype(np.float32)


def built(body: Body, rank: int = 3) -> tvm.IRModule:
    """``main(x: [2, n, 6])`` with a length that is open."""
    builder = relax.BlockBuilder()
    length = tvm.tirx.Var("n", "int64")
    dims = [2, length, WIDTH] if rank == 3 else [length, WIDTH]
    x = relax.Var("x", relax.TensorType(dims, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = body(x)
            values = made if isinstance(made, list) else [made]
            outputs = [builder.emit_output(value) for value in values]
        builder.emit_func_output(outputs[0] if len(outputs) == 1 else relax.Tuple(outputs))
    return builder.get()


def emit(value: relax.Expr) -> relax.Var:
    return relax.BlockBuilder.current().emit(value)


def layer(x: relax.Expr) -> relax.Expr:
    """A sum that is read twice, a norm, products, and the head."""
    total = emit(op.add(x, op.matmul(x, relax.const(SQUARE))))
    norm = op.nn.rms_norm(total, relax.const(np.ones(WIDTH, np.float32)), axes=-1, epsilon=1e-5)
    inner = emit(op.matmul(emit(norm), relax.const(SQUARE)))
    gated = emit(op.multiply(inner, op.sigmoid(inner)))
    mean = op.mean(gated, axis=-1, keepdims=True)
    scaled = op.divide(gated, op.add(mean, relax.const(3.0)))
    return op.matmul(op.add(total, scaled), relax.const(WEIGHT))


def along(x: relax.Expr) -> relax.Expr:
    """Something that mixes positions before the head."""
    sums = op.cumsum(x, axis=1)
    return op.matmul(op.add(op.nn.softmax(sums, axis=1), sums), relax.const(WEIGHT))


def read_elsewhere(x: relax.Expr) -> list[relax.Expr]:
    """A value that another output has whole."""
    hidden = emit(op.nn.relu(x))
    return [op.matmul(hidden, relax.const(WEIGHT)), op.negative(hidden)]


def by_position(x: relax.Expr) -> relax.Expr:
    """A table with a row for each position, and one with a row for all."""
    table = emit(op.mean(x, axis=[0, 2], keepdims=True))
    rows = emit(op.squeeze(emit(op.mean(op.abs(x), axis=[0], keepdims=True)), [0]))
    all_ = emit(op.mean(x, axis=[1], keepdims=True))
    return op.matmul(op.add(op.add(op.multiply(x, table), rows), all_), relax.const(WEIGHT))


@pytest.mark.parametrize("body", [layer, along, read_elsewhere, by_position])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_the_last_row_is_the_last_of_all(body: Body, length: int) -> None:
    mod = built(body)
    count = 2 if body is read_elsewhere else 1
    names = ["logits", "other"][:count]
    x = RNG.standard_normal((2, length, WIDTH)).astype(np.float32)
    got, wanted = run(LastPosition(("main",), names, "logits")(mod), x), run(mod, x)
    assert got[0].shape == (2, 1, VOCABULARY)
    np.testing.assert_allclose(got[0], wanted[0][:, -1:], rtol=1e-5, atol=1e-6)
    for a, b in zip(got[1:], wanted[1:], strict=True):
        np.testing.assert_array_equal(a, b)


def lengths(mod: tvm.IRModule, name: str) -> list[str]:
    """Positions of the results of an operator's calls."""
    bindings = (b for block in mod["main"].body.blocks for b in block.bindings)
    dims = (b.var.ty.shape[1] for b in bindings if op_name(b.value) == name)
    return [str(getattr(dim, "value", dim)) for dim in dims]


def test_all_that_leads_to_it_is_for_one_row() -> None:
    mod = LastPosition(("main",), ["logits"], "logits")(built(layer))
    assert lengths(mod, "relax.matmul") == ["1", "1", "1"]
    assert lengths(mod, "relax.strided_slice") == ["1"]  # the input alone


def test_what_mixes_positions_stays_whole() -> None:
    mod = LastPosition(("main",), ["logits"], "logits")(built(along))
    assert lengths(mod, "relax.matmul") == ["1"] and lengths(mod, "relax.cumsum") == ["n"]


def test_what_has_no_last_position_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no output 'logits' .* but y; rename it, or give"):
        LastPosition(("main",), ["y"], "logits")(built(layer))
    twice = built(lambda x: op.matmul(op.concat([x, x], axis=1), relax.const(WEIGHT)))
    with pytest.raises(UnsupportedError, match="may have no position, as its length is 2.n"):
        LastPosition(("main",), ["logits"], "logits")(twice)
    flat = built(lambda x: op.matmul(x, relax.const(WEIGHT)), rank=2)
    with pytest.raises(UnsupportedError, match="output 'logits' has other dims than batch, length"):
        LastPosition(("main",), ["logits"], "logits")(flat)


def test_a_product_by_quantised_weights_is_for_one_row() -> None:
    """MatMulNBits is a call of a composite function, with its product inside."""
    weights = numpy_helper.from_array(np.arange(5 * 16, dtype=np.uint8).reshape(5, 1, 16), "w")
    scales = numpy_helper.from_array(np.ones((5, 1), np.float32), "s")
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["logits"], domain="com.microsoft",
                            K=32, N=5, bits=4, block_size=32, accuracy_level=4)  # fmt: skip
    info, kind = helper.make_tensor_value_info, TensorProto.FLOAT
    graph = helper.make_graph(
        [node], "g", [info("x", kind, [2, "n", 32])], [info("logits", kind, [2, "n", 5])],
        [weights, scales],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    mod = frontend.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10)).mod
    assert lengths(LastPosition(("main",), ["logits"], "logits")(mod), "relax.matmul") == ["1"]
