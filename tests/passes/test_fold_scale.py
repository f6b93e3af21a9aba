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


@pytest.mark.slow
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


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("weight", [1e-25, 1e-35])
def test_a_channel_whose_weights_would_be_subnormal(weight: float, shift: float) -> None:
    """Beside a normal one: its scale stays, but where what is added later hides that."""

    def body(x: relax.Var) -> relax.Expr:
        row = np.array([weight, 1], np.float32)
        y = relax.op.nn.conv2d(x, relax.const(np.tile(row.reshape(2, 1, 1, 1), (1, 3, 1, 1))))
        scale = relax.const(np.array([1e-15, 1], np.float32))
        zero, one = (relax.const(np.full(2, v, np.float32)) for v in (shift, 1))
        mean = relax.const(np.zeros(2, np.float32))
        bn = relax.op.nn.batch_norm(y, scale, zero, mean, one, axis=1, epsilon=0.0, training=False)
        return relax.TupleGetItem(bn, 0)

    before = build(body, (1, 3, 2, 2))
    after = _fold(before)
    assert ("relax.multiply" in operators(after)) == (shift == 0)
    x = np.full((1, 3, 2, 2), 1e12, np.float32)
    (found,) = run(after, x)
    want = np.float32(1e12) * 3 * np.float32(weight) * np.float64(np.float32(1e-15)) + shift
    np.testing.assert_allclose(found[0, 0], want, rtol=1e-5)


def test_an_input_whose_weights_would_be_subnormal() -> None:
    """Its scale stays in front, beside a channel of normal weights in the same row."""

    def body(x: relax.Var) -> relax.Expr:
        scale = relax.const(np.array([1e-20, 1], np.float32).reshape(2, 1, 1))
        row = np.array([1.234567e-22, 1], np.float32)
        weights = relax.const(np.tile(row.reshape(1, 2, 1, 1), (3, 1, 1, 1)))
        return relax.op.nn.conv2d(relax.op.multiply(x, scale), weights)

    before = build(body, (1, 2, 2, 2))
    after = _fold(before)
    assert operators(after) == ["relax.multiply", "relax.nn.conv2d"]


def test_a_scale_of_zero_keeps_the_sign() -> None:
    """``1 / (y * 0)`` is negative infinity where y is negative."""

    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.nn.conv2d(x, _const(2, 3, 1, 1))
        scale = relax.const(np.array([0, 2], np.float32).reshape(2, 1, 1))
        return relax.op.divide(relax.const(np.float32(1)), relax.op.multiply(y, scale))

    before = build(body, (1, 3, 4, 4))
    _same(before, _fold(before), (1, 3, 4, 4))


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


def test_a_division_of_integers_is_no_factor() -> None:
    weights = RNG.integers(-9, 9, (2, 3, 1, 1)).astype("int32")

    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.divide(x, relax.const(np.full((1, 3, 1, 1), 3, "int32")))
        return relax.op.nn.conv2d(y, relax.const(weights), out_dtype="int32")

    after = _fold(build(body, (1, 3, 2, 2), dtype="int32"))
    assert operators(after) == ["relax.divide", "relax.nn.conv2d"]


_FAR = {
    "infinite, of a weight of 0": (np.inf, 0.0),
    "no number": (np.nan, 1.0),
    "past the largest float": (1e38, 100.0),
    "below the smallest float": (1e-20, 1e-30),
}


@pytest.mark.parametrize("name", _FAR)
def test_a_scale_stays_where_weights_do_not_hold_it(name: str) -> None:
    """``(x @ 0) * inf`` has infinities where ``x @ (0 * inf)`` has no numbers."""
    scale, weight = _FAR[name]
    factor = relax.const(np.array([scale, scale], "f4"))

    def product(x: relax.Var) -> relax.Expr:
        weights = np.full((3, 2), weight, "f4")
        return relax.op.multiply(relax.op.matmul(x, relax.const(weights)), factor)

    def biased(x: relax.Var) -> relax.Expr:
        summand = np.full(2, np.float32(weight), "f4")
        y = relax.op.add(relax.op.matmul(x, _const(3, 2)), relax.const(summand))
        return relax.op.multiply(y, factor)

    def convolution(x: relax.Var) -> relax.Expr:
        pixels = relax.op.multiply(x, relax.const(np.float32(scale)))
        return relax.op.nn.conv2d(pixels, relax.const(np.full((5, 3, 3, 3), weight, "f4")))

    left = ["relax.matmul", "relax.multiply"]
    assert operators(_fold(build(product, (2, 3)))) == left
    if name != "no number":  # of a sum it makes one, too
        assert operators(_fold(build(biased, (2, 3))))[0] == "relax.matmul"
    after = operators(_fold(build(convolution, (1, 3, 7, 6))))
    assert after == ["relax.multiply", "relax.nn.conv2d"]


def test_a_shift_does_not_meet_an_infinite_weight() -> None:
    """``0 * inf`` in the sum of the shifts would be no number."""

    def body(x: relax.Var) -> relax.Expr:
        weights = RNG.standard_normal((5, 3, 3, 3)).astype("f4")
        weights[0, 0] = np.inf
        shift = relax.const(np.array([0, 1, 2], "f4").reshape(3, 1, 1))
        return relax.op.nn.conv2d(relax.op.add(x, shift), relax.const(weights))

    assert operators(_fold(build(body, (1, 3, 7, 6)))) == ["relax.add", "relax.nn.conv2d"]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_not_scaled(dtype: str) -> None:
    """Their products wrap; those of doubles do not, and have 53 bits."""

    def body(x: relax.Var) -> relax.Expr:
        weights = relax.const(np.full((3, 2), 100_003, dtype), dtype)
        y = relax.op.matmul(relax.op.astype(x, dtype), weights)
        y = relax.op.add(y, relax.const(np.array(7, dtype), dtype))
        return relax.op.multiply(y, relax.const(np.array(100_005, dtype), dtype))

    names = [f"relax.{name}" for name in ("astype", "matmul", "add", "multiply")]
    assert operators(_fold(build(body, (2, 3)))) == names


@pytest.mark.parametrize(
    ("first", "second", "sums"),
    [(1.5, -1.25, 1), (12582912, -12582912, 2), (3e38, 3e38, 2), (np.inf, 1, 2)],
)
def test_summands_that_cancel_or_overflow_stay_apart(
    first: float, second: float, sums: int
) -> None:
    """``x + 1.5 * 2**23 - 1.5 * 2**23`` is `x` rounded to an integer."""

    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.add(x, relax.const(np.float32(first)))
        return relax.op.add(y, relax.const(np.float32(second)))

    assert operators(_fold(build(body, (2, 3)))) == ["relax.add"] * sums


def test_a_convolution_without_channels_folds() -> None:
    def body(x: relax.Var) -> relax.Expr:
        y = relax.op.multiply(x, relax.const(np.float32(2)))
        return relax.op.nn.conv2d(y, relax.const(np.zeros((4, 0, 3, 3), "f4")))

    assert operators(_fold(build(body, (1, 0, 7, 6)))) == ["relax.nn.conv2d"]
