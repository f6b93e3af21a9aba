"""FoldScaleShift: batch normalisation and per-channel scale and shift go into the weights."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.passes import FoldConstants, FoldScaleShift

RNG = np.random.default_rng(0)


def _const(*shape: int) -> relax.Expr:
    return relax.const(RNG.standard_normal(shape).astype("float32"))


def _fold(mod: tvm.IRModule) -> tvm.IRModule:
    return tvm.transform.Sequential([FoldConstants(), FoldScaleShift()])(mod)


def _same(before: tvm.IRModule, after: tvm.IRModule, *shapes: tuple[int, ...]) -> None:
    inputs = [RNG.standard_normal(s).astype("float32") for s in shapes]
    for a, b in zip(run(before, *inputs), run(after, *inputs), strict=True):
        assert_close(b, a)


def test_batch_norm_goes_into_conv() -> None:
    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.nn.conv2d(x, _const(4, 3, 3, 3), padding=1)
        y = relax.op.add(y, _const(1, 4, 1, 1))
        var = relax.const(RNG.random(4).astype("float32") + 0.5)
        bn = relax.op.nn.batch_norm(y, _const(4), _const(4), _const(4), var, axis=1, training=False)
        return relax.TupleGetItem(bn, 0)

    before = build(body, (1, 3, 5, 6))
    after = _fold(before)
    assert operators(after) == ["relax.nn.conv2d", "relax.add"]
    _same(before, after, (1, 3, 5, 6))


def test_batch_norm_alone_becomes_scale_and_shift() -> None:
    def body(x: relax.Var) -> relax.Expr:
        var = relax.const(RNG.random(3).astype("float32") + 0.5)
        bn = relax.op.nn.batch_norm(x, _const(3), _const(3), _const(3), var, axis=1, training=False)
        return relax.TupleGetItem(bn, 0)

    before = build(body, (2, 3, 4, 4))
    after = _fold(before)
    assert operators(after) == ["relax.multiply", "relax.add"]
    _same(before, after, (2, 3, 4, 4))


def test_scale_goes_into_matmul_and_its_bias() -> None:
    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.add(relax.op.matmul(x, _const(6, 5)), _const(5))
        return relax.op.add(relax.op.multiply(y, _const(5)), _const(5))

    before = build(body, (2, 6))
    after = _fold(before)
    assert operators(after) == ["relax.matmul", "relax.add"]
    _same(before, after, (2, 6))


@pytest.mark.parametrize("shape", [(1, 1, 5, 6), (1, 4, 5, 6)])
def test_scale_that_varies_over_pixels_stays(shape: tuple[int, ...]) -> None:
    def body(x: relax.Var) -> relax.Expr:
        return relax.op.multiply(relax.op.nn.conv2d(x, _const(4, 3, 1, 1)), _const(*shape))

    before = build(body, (1, 3, 5, 6))
    after = _fold(before)
    assert operators(after) == ["relax.nn.conv2d", "relax.multiply"]
    _same(before, after, (1, 3, 5, 6))


def test_conv_with_another_use_stays() -> None:
    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.nn.conv2d(x, _const(4, 3, 1, 1))
        return relax.Tuple([y, relax.op.multiply(y, _const(1, 4, 1, 1))])

    before = build(body, (1, 3, 5, 6))
    after = _fold(before)
    assert operators(after) == ["relax.nn.conv2d", "relax.multiply"]
    _same(before, after, (1, 3, 5, 6))


def test_add_that_broadcasts_the_value_stays() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return relax.op.add(relax.op.add(x, _const(1, 4)), _const(3, 4))

    before = build(body, (1, 4))
    after = _fold(before)
    _same(before, after, (1, 4))


def _normalised(x: relax.Var, channels: int) -> relax.Expr:
    """As models normalise an image, of constants of every rank."""
    y = relax.op.divide(relax.op.subtract(x, relax.const(np.float32(0.4))), _const(channels, 1, 1))
    return relax.op.add(_const(1, channels, 1, 1), relax.op.multiply(_const(1, 1, 1, 1), y))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("padding", "left"),
    [(0, ["relax.nn.conv2d", "relax.add"]), (1, ["relax.add", "relax.nn.conv2d"])],
)
def test_normalisation_goes_into_the_convolution_behind_it(
    groups: int, padding: int, left: list[str]
) -> None:
    """Padding is of the normalised image: one sum stays in front of it."""

    def body(x: relax.Var) -> relax.Expr:
        weights = _const(6, 4 // groups, 3, 3)
        return relax.op.nn.conv2d(_normalised(x, 4), weights, padding=padding, groups=groups)

    before = build(body, (1, 4, 7, 6))
    after = _fold(before)
    assert operators(after) == left
    assert operators(_fold(after)) == left
    _same(before, after, (1, 4, 7, 6))


def test_a_scale_goes_into_a_padded_convolution() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return relax.op.nn.conv2d(
            relax.op.multiply(x, _const(3, 1, 1)), _const(5, 3, 3, 3), padding=1
        )

    before = build(body, (1, 3, 7, 6))
    after = _fold(before)
    assert operators(after) == ["relax.nn.conv2d"]
    _same(before, after, (1, 3, 7, 6))


def test_a_scale_of_zero_and_one_by_pixels_stay_in_front_of_a_convolution() -> None:
    def zero(x: relax.Var) -> relax.Expr:
        scale = relax.const(np.array([1, 0, 2], "f4").reshape(3, 1, 1))
        y = relax.op.add(relax.op.multiply(x, scale), _const(3, 1, 1))
        return relax.op.nn.conv2d(y, _const(5, 3, 3, 3), padding=1)

    def pixels(x: relax.Var) -> relax.Expr:
        return relax.op.nn.conv2d(relax.op.multiply(x, _const(7, 6)), _const(5, 3, 3, 3))

    for body, names in (
        (zero, ["multiply", "add", "nn.conv2d"]),
        (pixels, ["multiply", "nn.conv2d"]),
    ):
        before = build(body, (1, 3, 7, 6))
        after = _fold(before)
        assert operators(after) == [f"relax.{name}" for name in names]
        _same(before, after, (1, 3, 7, 6))


def test_a_bias_stays_with_its_convolution() -> None:
    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.add(relax.op.nn.conv2d(x, _const(4, 3, 1, 1)), _const(4, 1, 1))
        return relax.op.nn.conv2d(y, _const(5, 4, 1, 1))

    after = _fold(build(body, (1, 3, 5, 6)))
    assert operators(after) == ["relax.nn.conv2d", "relax.add", "relax.nn.conv2d"]


def test_integers_wrap_in_weights_as_in_products() -> None:
    weights = RNG.integers(0, 255, (4, 5)).astype("int32")
    factor, bias = np.int32(-1226100112), np.full(5, 2**30, "int32")

    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.add(relax.op.matmul(x, relax.const(weights)), relax.const(bias))
        return relax.op.multiply(y, relax.const(factor))

    before = build(body, (3, 4), dtype="int32")
    x = RNG.integers(-128, 127, (3, 4)).astype("int32")
    (found,) = run(_fold(before), x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, (x @ weights + bias) * factor)


@pytest.mark.parametrize("factor", [1e30, np.inf, np.nan, 1e-30])
def test_what_the_type_does_not_hold_stays(factor: float) -> None:
    size = 1e20 if factor > 1 else 1e-20

    def body(x: relax.Var) -> relax.Expr:
        weights = relax.const((np.eye(5, 4) * size).astype("float32"))
        return relax.op.multiply(relax.op.matmul(x, weights), relax.const(np.float32(factor)))

    before = build(body, (2, 5))
    after = _fold(before)
    assert operators(after) == ["relax.matmul", "relax.multiply"]
    inputs = (np.eye(2, 5) / size).astype("float32")
    (a,), (b,) = run(before, inputs), run(after, inputs)
    np.testing.assert_array_equal(a, b)


def test_biases_whose_sum_overflows_stay() -> None:
    def body(x: relax.Var) -> relax.Expr:
        half = relax.const(np.full(5, 2e38, "float32"))
        return relax.op.add(relax.op.add(relax.op.matmul(x, _const(6, 5)), half), half)

    after = _fold(build(body, (2, 6)))
    assert operators(after) == ["relax.matmul", "relax.add", "relax.add"]


def test_a_division_of_integers_is_no_factor() -> None:
    weights = RNG.integers(-9, 9, (2, 3, 1, 1)).astype("int32")

    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.divide(x, relax.const(np.full((1, 3, 1, 1), 3, "int32")))
        return relax.op.nn.conv2d(y, relax.const(weights), out_dtype="int32")

    after = _fold(build(body, (1, 3, 2, 2), dtype="int32"))
    assert operators(after) == ["relax.divide", "relax.nn.conv2d"]
