"""Products by quantised weights: in which forms a kernel takes them, and as what call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build, operators, run
from tvm_megcc.core.preference import Preference
from tvm_megcc.fuse import matmul_wq
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import FoldConstants, HalfPrecision, WidenWeights, stages
from tvm_megcc.relax_tools.int8_rows import allowing
from tvm_megcc.relax_tools.work_attributes import work_of

op = relax.op
RNG = np.random.default_rng(0)
K, N = 12, 5


def dequantised(
    shape: tuple[int, ...] = (K, N), axis: int = 1, dtype: str = "int8", *, high: int = 127,
    low: int = -128, zero: int | None = 0, size: int | None = None,
) -> relax.Expr:  # fmt: skip
    """A scale for each place of the axis, or `size` of them; a zero point, or random ones."""
    numbers = RNG.integers(low, high, shape, endpoint=True).astype(dtype)
    numbers.reshape(-1)[:2] = low, high
    scales = () if size == 1 else (shape[axis],)
    point = RNG.integers(low, high, scales) if zero is None else np.full(scales, zero)
    arrays = [numbers, np.float32(RNG.uniform(0.01, 0.02, scales)), point.astype(dtype)]
    return op.dequantize(*(relax.const(a, str(a.dtype)) for a in arrays), axis=axis)


def rows(**more: object) -> relax.Expr:
    """Blocks of 4 of each of N columns."""
    return dequantised((N * K // 4, 4), 0, **more)


#: Weights -> the facts of the call.
TAKEN = {
    "one scale": (lambda: dequantised(size=1), {"channel_scales": 0, "block": K, "bits": 8}),
    "columns": (dequantised, {"channel_scales": 1, "block": K, "zero": 0}),
    "zero points": (lambda: dequantised(zero=None), {"zero": 1, "bits": 8}),
    "unsigned": (lambda: dequantised(dtype="uint8", low=0, high=255, zero=128), {"zero": 0}),
    "unsigned, uneven": (lambda: dequantised(dtype="uint8", low=0, high=255, zero=3), {"zero": 1}),
    "four bits": (lambda: dequantised(low=-8, high=7), {"bits": 4}),
    "four bits from 0": (
        lambda: dequantised(dtype="uint8", low=0, high=15, zero=8), {"bits": 4, "zero": 0},
    ),
    "four bits, a far zero": (lambda: dequantised(low=-8, high=7, zero=9), {"bits": 8, "zero": 1}),
    "transposed": (lambda: op.permute_dims(dequantised((N, K), 0)), {"block": K, "n": N, "k": K}),
    "a scale for each k": (lambda: dequantised(axis=0), {"block": 1}),
    "blocks": (lambda: op.permute_dims(op.reshape(rows(), (N, K))), {"block": 4, "n": N, "k": K}),
    "one block that is cut": (
        lambda: op.permute_dims(op.strided_slice(dequantised((N, K), 0), [1], [0], [7], [1])),
        {"block": 7, "k": 7},
    ),
    "transposed twice": (
        lambda: op.permute_dims(op.permute_dims(op.reshape(rows(), (K, N)))), {"n": N, "k": K},
    ),
    "a block that is cut": (
        lambda: op.permute_dims(op.strided_slice(op.reshape(rows(), (N, K)), [1], [0], [10], [1])),
        {"block": 4, "k": 10},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_one_call_of_a_kernel(name: str) -> None:
    weights, facts = TAKEN[name]
    k = facts.get("k", K)
    bias = relax.const(np.ones(N, np.float32))
    before = build(lambda x: op.nn.relu(op.add(op.matmul(x, weights()), bias)), (3, k))
    kept = FoldConstants(keep_weights=True)(before)
    assert operators(kept)[0] == "relax.dequantize"
    assert "relax.dequantize" in operators(WidenWeights("arm64")(kept))
    (match,) = find_matches(kept["main"], "arm64").values()
    assert match.request.op == "matmul_wq"
    found = match.request.facts
    assert {name: found[name] for name in facts} == facts and found["bias"] and found["act"]
    assert found["m"] == 3 and match.request.operands["rhs"].shape == (N, k)


def int8_rows(block: int, count: int, **more: object) -> relax.Expr:
    """`count` blocks of each of N columns, whose product may round its other operand to int8."""
    numbers = dequantised((N * count, block), 0, **more)
    weights = allowing(relax.BlockBuilder().normalize(numbers))
    return op.permute_dims(op.reshape(weights, (N, count * block)))


@pytest.mark.parametrize(("block", "count", "int8"), [(16, 3, 1), (64, 2, 1), (7, 1, 1), (8, 2, 0)])
def test_rows_in_int8(block: int, count: int, int8: int) -> None:
    """Where the weights allow it, blocks are steps of 16 or one, and nobody wants exact sums."""
    before = build(lambda x: op.matmul(x, int8_rows(block, count)), (3, block * count))
    kept = WidenWeights("arm64")(FoldConstants(keep_weights=True)(before))
    for exact in (False, True):
        (match,) = find_matches(kept["main"], "arm64", Preference(exact=exact)).values()
        assert match.request.facts["int8"] == (int8 and not exact)
        assert {"int8" in kernel.stem for kernel in match.kernels} == {bool(int8 and not exact)}
        assert not isinstance(match.request.operands["lhs"], relax.Call)


def test_rows_in_int8_of_f16() -> None:
    before = build(lambda x: op.matmul(x, int8_rows(32, 2)), (3, 64))
    half = HalfPrecision("fp16")(FoldConstants(keep_weights=True)(before))
    matches = find_matches(WidenWeights("arm64")(half)["main"], "arm64").values()
    (facts,) = (m.request.facts for m in matches if m.request.op == "matmul_wq")
    assert (facts["L"], facts["int8"]) == ("f16", 1)


def test_weights_that_become_floats_allow_nothing() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        weights = int8_rows(N, 1, high=7, low=-8)
        return op.matmul(op.matmul(x, weights), weights)

    before = build(body, (3, N))
    assert "relax.call_pure_packed" in operators(before)
    for after in (FoldConstants()(before), FoldConstants(keep_weights=True)(before)):
        assert operators(after) == ["relax.matmul", "relax.matmul"]


def test_int8_rows_run_in_tvm() -> None:
    """The call that allows them is the identity there."""
    rng = np.random.default_rng(2)
    mod = build(lambda x: op.matmul(x, int8_rows(16, 2)), (3, 32))
    x = rng.standard_normal((3, 32)).astype(np.float32)
    want = run(FoldConstants()(mod), x)[0]
    np.testing.assert_allclose(run(mod, x)[0], want, rtol=1e-5, atol=1e-5)


def twice(x: relax.Expr) -> relax.Expr:
    weights = dequantised((K, K))
    return op.matmul(op.matmul(x, weights), weights)


#: Not weights of one product: floats, as ever.
WIDENED: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "two products": twice,
    "a sum": lambda x: op.add(x, dequantised((3, K))),
    "the left operand": lambda x: op.matmul(dequantised((N, 3)), x),
    "wider than bytes": lambda x: op.matmul(x, dequantised(dtype="int32", zero=0)),
    "moved otherwise": lambda x: op.matmul(x, op.reshape(op.expand_dims(dequantised(), 0), (K, N))),
}


@pytest.mark.parametrize("name", sorted(WIDENED))
def test_floats(name: str) -> None:
    before = build(WIDENED[name], (3, K))
    after = WidenWeights("arm64")(FoldConstants(keep_weights=True)(before))
    assert "relax.dequantize" not in operators(after)


def test_without_being_asked_constants_fold() -> None:
    before = build(lambda x: op.matmul(x, dequantised()), (3, K))
    assert matmul_wq.weights(before["main"])
    assert operators(FoldConstants()(before)) == ["relax.matmul"]


def test_the_weights_are_those_of_the_module() -> None:
    """Scales and numbers of a call, as the kernel's contract has them, give TVM's floats."""
    weights = op.permute_dims(op.reshape(rows(zero=None), (N, K)))
    before = build(lambda x: op.matmul(x, weights), (3, K))
    (match,) = find_matches(before["main"], "portable").values()
    given = match.request.operands
    blocks = [np.repeat(given[name].reshape(N, -1), 4, axis=1) for name in ("zero", "scale")]
    want = (given["rhs"].astype(np.float32) - blocks[0]) * blocks[1]
    folded = FoldConstants()(before)["main"].body.blocks[0].bindings[0].value.args[1]
    np.testing.assert_array_equal(folded.value.numpy().T, want)


def test_why_weights_are_floats_is_said() -> None:
    """To lower, for ``tvmc inspect``; a bias is no weights."""

    def body(x: relax.Expr) -> relax.Expr:
        kernel = op.dequantize(
            relax.const(np.ones((K, K, 3, 1), np.int8)), relax.const(np.float32(0.5)),
            relax.const(np.int8(0), "int8"),
        )  # fmt: skip
        flat = op.reshape(
            op.nn.conv2d(op.reshape(twice(x), (1, K, 3, 1)), kernel, padding=[1, 0]), (3, K)
        )
        return op.add(op.matmul(flat, dequantised((K, K))), dequantised((K,), 0))

    mod = build(body, (3, K))
    for name, stage in stages("arm64").items():
        mod = stage(mod)
        if name == "materialise":
            assert operators(mod).count("relax.call_dps_packed") >= 3
    said = work_of(mod).widened
    assert sorted(said.values()) == [
        "144 numbers of 4 bytes each, as more than one operator reads them",
        "432 numbers of 4 bytes each, as no kernel of conv2d takes them beside floats",
    ]
