"""Rows of a quantised table: what TVM computes, and as what call a kernel gets them."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import run
from tvm_megcc.fuse.assigning import assigned
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import FoldConstants
from tvm_megcc.relax_tools.int8_rows import allowing
from tvm_megcc.relax_tools.quantised_tables import rows

op = relax.op
ROWS, DEPTH, BLOCK = 21, 64, 16
RNG = np.random.default_rng(0)
SCALES = RNG.uniform(0.1, 1, (ROWS, DEPTH // BLOCK)).astype("f4")


def tables(dtype: str, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and zero points."""
    numbers = RNG.integers(0, high, (ROWS, DEPTH), endpoint=True).astype(dtype)
    numbers[0, :2] = 0, high
    return numbers, RNG.integers(0, high, SCALES.shape, endpoint=True).astype(dtype)


def module(numbers: np.ndarray, zeros: np.ndarray, product: np.ndarray | None) -> tvm.IRModule:
    """Rows of the table, and perhaps the product by other numbers with the same blocks."""
    builder = relax.BlockBuilder()
    index = relax.Var("index", relax.TensorType((4,), "int64"))
    x = relax.Var("x", relax.TensorType((4, DEPTH), "float32"))

    def const(array: np.ndarray) -> relax.Constant:
        return relax.const(array, str(array.dtype))

    with builder.function("main", [index, x]):
        with builder.dataflow():
            table = rows(builder, const(numbers), index, const(SCALES), const(zeros), BLOCK)
            found = [builder.emit_output(table)]
            if product is not None:
                parts = [product.reshape(-1, BLOCK), SCALES.reshape(-1), zeros.reshape(-1)]
                weights = builder.emit(op.dequantize(*map(const, parts), axis=0))
                weights = builder.emit(op.reshape(builder.emit(allowing(weights)), (ROWS, DEPTH)))
                y = op.matmul(x, builder.emit(op.permute_dims(weights)))
                found.append(builder.emit_output(builder.normalize(y)))
        builder.emit_func_output(relax.Tuple(found))
    return builder.get()


def test_tvm_computes_rows() -> None:
    numbers, zeros = tables("uint8", 15)
    index = np.array([0, 20, 7, 99])
    (found,) = run(module(numbers, zeros, None), index, np.zeros((4, DEPTH), "f4"))
    whole = numbers.astype("f4") - np.repeat(zeros, BLOCK, 1).astype("f4")
    want = (whole * np.repeat(SCALES, BLOCK, 1))[np.clip(index, 0, ROWS - 1)]
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("dtype", "high", "bits"), [("uint8", 15, 4), ("int8", 7, 4), ("uint8", 255, 8)]
)
def test_numbers_are_held_as_a_product_holds_them(dtype: str, high: int, bits: int) -> None:
    mod = module(*tables(dtype, high), None)
    (match,) = find_matches(mod["main"], "portable").values()
    facts = match.request.facts
    assert (match.request.op, facts["bits"], facts["zero"]) == ("gather_wq", bits, 1)
    assert (facts["nr"], facts["kr"], facts["flip"]) == (1, 0, 0)
    assert str(match.request.operands["x"].dtype) == "int8"


@pytest.mark.parametrize(
    ("arch", "layout"),
    [("portable", (16, 1, 0)), ("arm64", (16, 4, 1)), ("arm64+dotprod", (16, 4, 0)),
     ("arm64+i8mm", (16, 8, 0)), ("x86+avx2", (16, 4, 1))],
)  # fmt: skip
def test_the_layout_is_the_products(arch: str, layout: tuple[int, int, int]) -> None:
    numbers, zeros = tables("uint8", 15)
    for product, tied in ((numbers, True), (numbers[::-1], False)):
        mod = FoldConstants(keep_weights=True)(
            module(numbers, zeros, np.ascontiguousarray(product))
        )
        found = assigned(mod, arch)
        ((_, _, matches),) = found.functions
        (facts,) = (m.request.facts for m in matches.values() if m.request.op == "gather_wq")
        assert (facts["nr"], facts["kr"], facts["flip"]) == (layout if tied else (1, 0, 0))
        assert len(found.tables) == tied
