"""WholeOperators: which spellings become one operator, which stay, and by how much it differs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.passes import WholeOperators

op = relax.op
nn = relax.op.nn
Body = Callable[..., relax.Expr]
SHAPE = (3, 4, 8)
RNG = np.random.default_rng(5)
SCALE, BIAS = (RNG.standard_normal(8).astype(np.float32) for _ in range(2))
EPSILON = 1e-3


def number(value: float, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.asarray(value, dtype), dtype)


def let(value: relax.Expr) -> relax.Var:
    """A variable of its own, which may have several readers."""
    return relax.BlockBuilder.current().emit(value)


def mean(x: relax.Expr, axis: int | list[int] = -1) -> relax.Expr:
    return op.mean(x, axis, True)


def square(x: relax.Expr) -> relax.Expr:
    return op.multiply(x, x)


def less_mean(x: relax.Expr, axis: int | list[int] = -1) -> relax.Var:
    return let(op.subtract(x, mean(x, axis)))


def spread(d: relax.Expr, axis: int | list[int] = -1, squared: Body = square) -> relax.Expr:
    """The mean square, and what keeps it from 0."""
    return op.add(mean(squared(d), axis), number(EPSILON, str(d.ty.dtype)))


def affine(x: relax.Expr, scale: np.ndarray = SCALE, bias: np.ndarray = BIAS) -> relax.Expr:
    x = let(x)
    dtype = str(x.ty.dtype)
    scale, bias = (relax.const(a.astype(dtype), dtype) for a in (scale, bias))
    return op.add(op.multiply(x, scale), bias)


def normal(
    axis: int | list[int] = -1,
    squared: Body = square,
    over: Body = lambda d, v: op.divide(d, op.sqrt(v)),
) -> Body:
    """A layer norm without scale and bias."""

    def body(x: relax.Expr) -> relax.Expr:
        d = less_mean(x, axis)
        return over(d, spread(d, axis, squared))

    return body


def twice(x: relax.Expr) -> relax.Expr:
    return op.divide(less_mean(x), op.sqrt(spread(less_mean(x))))


def folded(x: relax.Expr) -> relax.Expr:
    """``x * k + (bias - mean * k)``."""
    m = let(mean(x))
    d = let(op.subtract(x, m))
    k = let(op.multiply(op.rsqrt(spread(d)), relax.const(SCALE)))
    return op.add(op.multiply(x, k), op.subtract(relax.const(BIAS), op.multiply(m, k)))


def group(x: relax.Expr) -> relax.Expr:
    """A group norm as PyTorch's exporter has it, with an instance norm of no scale and bias."""
    d = less_mean(op.reshape(x, (3, 2, 16)))
    ones, zeros = (op.reshape(relax.const(np.full(2, v, "f4")), (1, 2, 1)) for v in (1, 0))
    groups = op.add(op.multiply(d, op.divide(ones, op.sqrt(spread(d)))), zeros)
    scale, bias = (a[:4].reshape(4, 1) for a in (SCALE, BIAS))
    return affine(op.reshape(groups, SHAPE), scale, bias)


def instance(x: relax.Expr) -> relax.Expr:
    d = less_mean(x)
    scale = relax.const(SCALE[:4].reshape(1, 4, 1))
    return op.multiply(d, op.divide(scale, op.sqrt(spread(d))))


def softmax(axis: int = -1, product: bool = False) -> Body:
    def body(x: relax.Expr) -> relax.Expr:
        e = let(op.exp(op.subtract(x, op.max(x, axis, True))))
        total = op.sum(e, axis, True)
        return op.multiply(e, op.divide(number(1), total)) if product else op.divide(e, total)

    return body


def log_softmax(x: relax.Expr) -> relax.Expr:
    d = let(op.subtract(x, op.max(x, 1, True)))
    return op.subtract(d, op.log(op.sum(op.exp(d), 1, True)))


def rms(over: Body = lambda x, v: op.divide(x, op.sqrt(v))) -> Body:
    return lambda x: op.multiply(over(x, spread(x)), relax.const(SCALE))


def of_power(x: relax.Expr) -> relax.Expr:
    return op.power(x, number(2))


INVERSES: dict[str, Body] = {
    "rsqrt": lambda d, v: op.multiply(d, op.rsqrt(v)),
    "inverse": lambda d, v: op.multiply(op.divide(number(1), op.sqrt(v)), d),
    "power": lambda d, v: op.divide(d, op.power(v, number(0.5))),
    "inverse power": lambda d, v: op.multiply(d, op.power(v, number(-0.5))),
}
WHOLE: dict[str, tuple[Body, list[str]]] = {
    "layer_norm": (lambda x: affine(normal()(x)), ["nn.layer_norm"]),
    "layer_norm, no scale": (normal(), ["nn.layer_norm"]),
    "layer_norm, Pow": (lambda x: affine(normal(squared=of_power)(x)), ["nn.layer_norm"]),
    "layer_norm, square": (lambda x: affine(normal(squared=op.square)(x)), ["nn.layer_norm"]),
    **{f"layer_norm, {name}": (lambda x, f=f: affine(normal(over=f)(x)), ["nn.layer_norm"])
       for name, f in INVERSES.items()},
    "layer_norm, difference twice": (lambda x: affine(twice(x)), ["nn.layer_norm"]),
    "layer_norm, two axes": (
        lambda x: affine(normal([1, 2])(x), np.outer(BIAS[:4], SCALE), np.outer(SCALE[:4], BIAS)),
        ["nn.layer_norm"]),
    "layer_norm, scale of more axes": (
        lambda x: affine(normal()(x), SCALE.reshape(1, 1, 8)), ["nn.layer_norm"]),
    "layer_norm, scale of rows": (
        lambda x: affine(normal()(x), BIAS[:4].reshape(4, 1)),
        ["nn.layer_norm", "multiply", "add"]),
    "layer_norm, folded": (folded, ["nn.layer_norm"]),
    "group_norm": (group, ["reshape", "nn.layer_norm", "reshape", "multiply", "add"]),
    "instance_norm": (instance, ["nn.layer_norm", "multiply"]),
    "rms_norm": (rms(), ["nn.rms_norm"]),
    **{f"rms_norm, {name}": (rms(f), ["nn.rms_norm"]) for name, f in INVERSES.items()},
    "softmax": (softmax(), ["nn.softmax"]),
    "softmax, inner axis": (softmax(1), ["nn.softmax"]),
    "softmax, inverse": (softmax(product=True), ["nn.softmax"]),
    "log_softmax": (log_softmax, ["nn.log_softmax"]),
}  # fmt: skip


def other_mean(x: relax.Expr) -> relax.Expr:
    d = let(op.subtract(x, mean(x, 1)))
    return op.divide(d, op.sqrt(spread(d)))


def other_square(x: relax.Expr) -> relax.Expr:
    d = less_mean(x)
    return op.divide(d, op.sqrt(spread(let(op.multiply(x, d)), squared=lambda p: p)))


def after_root(x: relax.Expr) -> relax.Expr:
    """What keeps the deviation from 0 is outside of the root."""
    d = less_mean(x)
    return op.divide(d, op.add(op.sqrt(mean(square(d))), number(EPSILON)))


def unshifted(x: relax.Expr) -> relax.Expr:
    e = let(op.exp(x))
    return op.divide(e, op.sum(e, -1, True))


def shifted_elsewhere(x: relax.Expr) -> relax.Expr:
    e = let(op.exp(op.subtract(x, op.max(x, 1, True))))
    return op.divide(e, op.sum(e, -1, True))


def euclidean(x: relax.Expr) -> relax.Expr:
    """Of which there is no operator: division by a norm."""
    return op.divide(x, op.maximum(op.sqrt(op.sum(square(x), -1, True)), number(1e-12)))


KEPT: dict[str, tuple[Body, tuple[int, ...]]] = {
    "mean over another axis": (other_mean, SHAPE),
    "not of a square": (other_square, SHAPE),
    "epsilon outside of the root": (after_root, SHAPE),
    "third power": (normal(squared=lambda d: op.power(d, number(3))), SHAPE),
    "inverse root that divides": (normal(over=lambda d, v: op.divide(d, op.rsqrt(v))), SHAPE),
    "root that multiplies": (normal(over=lambda d, v: op.multiply(d, op.sqrt(v))), SHAPE),
    "first axis": (normal(0), SHAPE),
    "planes of an image": (normal([2, 3]), (2, 3, 4, 5)),
    "few channels of an image": (normal(1), (2, 63, 4, 5)),
    "line that is short": (normal(), (2, 3)),
    "rms without a scale": (lambda x: op.divide(x, op.sqrt(spread(x))), SHAPE),
    "softmax whose largest is not subtracted": (unshifted, SHAPE),
    "softmax with the largest of another axis": (shifted_elsewhere, SHAPE),
    "euclidean norm": (euclidean, SHAPE),
    "variance without what keeps it from 0": (
        normal(over=lambda d, v: op.divide(d, op.sqrt(mean(square(d))))), SHAPE),
}  # fmt: skip


def example(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * 2 + 1).astype(np.float32)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_pieces_become_the_operator(name: str) -> None:
    body, wanted = WHOLE[name]
    before = build(body, SHAPE)
    after = WholeOperators()(before)
    found = [n for n in operators(after) if n != "relax.reshape" or "group" in name]
    assert found == ["relax." + n for n in wanted]
    x = example(*SHAPE)
    assert_close(run(after, x)[0], run(before, x)[0], 2e-6)


@pytest.mark.parametrize("batch", [2, "n"])
@pytest.mark.parametrize("ones", [(64, 1, 1), (1, 64, 1, 1)])
def test_channels_of_an_image(batch: int | str, ones: tuple[int, ...]) -> None:
    size = tirx.Var(batch, "int64") if isinstance(batch, str) else batch
    scale, bias = (np.tile(a, 8).reshape(ones) for a in (SCALE, BIAS))
    before = build(lambda x: affine(normal(1)(x), scale, bias), (size, 64, 3, 5))
    after = WholeOperators()(before)
    assert operators(after) == [
        "relax.permute_dims", "relax.nn.layer_norm", "relax.permute_dims"]  # fmt: skip
    x = example(2, 64, 3, 5)
    assert_close(run(after, x)[0], run(before, x)[0], 2e-6)


def test_a_scale_of_columns_stays_behind_a_norm_of_channels() -> None:
    body = lambda x: op.multiply(normal(1)(x), relax.const(np.tile(SCALE, 8)))  # noqa: E731
    after = WholeOperators()(build(body, (2, 64, 4, 64)))
    assert operators(after)[-1] == "relax.multiply"


@pytest.mark.parametrize("name", sorted(KEPT))
def test_other_expressions_stay(name: str) -> None:
    before = build(*KEPT[name])
    tvm.ir.assert_structural_equal(WholeOperators()(before), before)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "softmax", "log_softmax"])
def test_an_open_batch(name: str) -> None:
    n = tirx.Var("n", "int64")
    before = build(WHOLE[name][0], (n, 4, 8))
    after = WholeOperators()(before)
    assert operators(after) == ["relax.nn." + name]
    x = example(2, 4, 8)
    assert_close(run(after, x)[0], run(before, x)[0], 2e-6)


def test_an_open_line() -> None:
    """A softmax may have it; a layer norm lacks the shape of a scale."""
    n = tirx.Var("n", "int64")
    assert operators(WholeOperators()(build(softmax(), (3, n)))) == ["relax.nn.softmax"]
    before = build(normal(), (3, n))
    tvm.ir.assert_structural_equal(WholeOperators()(before), before)


@pytest.mark.parametrize("part", ["difference", "deviation", "exponentials"])
def test_pieces_that_have_other_readers_stay(part: str) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        if part == "exponentials":
            e = let(op.exp(op.subtract(x, op.max(x, -1, True))))
            return relax.Tuple([op.divide(e, op.sum(e, -1, True)), op.negative(e)])
        d = less_mean(x)
        root = let(op.sqrt(spread(d)))
        other = d if part == "difference" else root
        return relax.Tuple([op.divide(d, root), op.negative(other)])

    before = build(body, SHAPE)
    tvm.ir.assert_structural_equal(WholeOperators()(before), before)


def test_a_mean_may_have_other_readers() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        m = let(mean(x))
        d = let(op.subtract(x, m))
        return relax.Tuple([affine(op.divide(d, op.sqrt(spread(d)))), op.negative(m)])

    before = build(body, SHAPE)
    after = WholeOperators()(before)
    assert sorted(operators(after)) == ["relax.mean", "relax.negative", "relax.nn.layer_norm"]
    x = example(*SHAPE)
    for got, want in zip(run(after, x), run(before, x), strict=True):
        assert_close(got, want, 2e-6)


def test_a_norm_that_is_read_twice_keeps_its_scale_apart() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        y = let(normal()(x))
        return relax.Tuple([affine(y), op.negative(y)])

    names = operators(WholeOperators()(build(body, SHAPE)))
    assert names.count("relax.nn.layer_norm") == 1


def in_f32(x: relax.Expr) -> relax.Expr:
    return op.astype(x, "float32")


def half_pow(x: relax.Expr) -> relax.Expr:
    """f16, with a cast around the power and the mean."""
    d = less_mean(x)
    wide = let(in_f32(d))
    variance = op.astype(mean(op.power(wide, number(2))), "float16")
    root = op.sqrt(op.add(variance, number(EPSILON, "float16")))
    return affine(op.divide(d, root))


def half_island(x: relax.Expr) -> relax.Expr:
    """Computed in f32 up to the scale."""
    return affine(op.astype(normal()(let(in_f32(x))), "float16"))


def half_rms(x: relax.Expr) -> relax.Expr:
    wide = let(in_f32(x))
    normed = op.multiply(wide, op.rsqrt(spread(wide)))
    return op.multiply(relax.const(SCALE.astype("float16")), op.astype(normed, "float16"))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [(half_pow, "layer_norm"), (half_island, "layer_norm"), (half_rms, "rms_norm")],
)
def test_casts_within_a_norm_of_f16(body: Body, wanted: str) -> None:
    """The operator computes in f32: no further from f64 than the pieces."""
    before = build(body, SHAPE, dtype="float16")
    after = WholeOperators()(before)
    assert operators(after) == ["relax.nn." + wanted]


def test_statistics_that_are_rounded_to_f16_in_a_model_of_f32_stay() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        d = less_mean(x)
        root = op.astype(op.astype(op.sqrt(spread(d)), "float16"), "float32")
        return op.divide(d, root)

    before = build(body, SHAPE)
    tvm.ir.assert_structural_equal(WholeOperators()(before), before)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_types_that_no_kernel_has_stay(dtype: str) -> None:
    before = build(normal(), SHAPE, dtype=dtype)
    tvm.ir.assert_structural_equal(WholeOperators()(before), before)
