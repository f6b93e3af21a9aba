"""WholeActivations: spellings that become an activation, others that stay, and the difference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from tests.closeness import assert_close
from tests.passes.support import build, operators, run
from tvm_megcc.passes import WholeActivations
from tvm_megcc.passes.whole_activations import ACTIVATIONS, POINTS, TOLERANCE, bound_of

op = relax.op
Body = Callable[..., relax.Expr]
SHAPE = (3, 5)


def number(value: float, dtype: str = "float32") -> relax.Expr:
    return relax.const(np.asarray(value, dtype), dtype)


def product(factors: list[relax.Expr]) -> relax.Expr:
    first, *rest = factors
    for factor in rest:
        first = op.multiply(first, factor)
    return first


def erf_part(x: relax.Expr, root: float = math.sqrt(2), dtype: str = "float32") -> relax.Expr:
    return op.add(op.erf(op.divide(x, number(root, dtype))), number(1, dtype))


def tanh_part(x: relax.Expr, cube: relax.Expr) -> relax.Expr:
    inner = op.add(x, op.multiply(cube, number(0.044715)))
    return op.add(op.tanh(op.multiply(inner, number(math.sqrt(2 / math.pi)))), number(1))


def in_order(order: tuple[int, ...]) -> Body:
    return lambda x: product([[x, erf_part(x), number(0.5)][k] for k in order])


def logistic(x: relax.Expr) -> relax.Expr:
    return op.divide(number(1), op.add(number(1), op.exp(op.negative(x))))


def half_of_curve(x: relax.Expr) -> relax.Expr:
    curve = op.multiply(op.erf(op.multiply(x, number(0.70710678))), number(0.5))
    return op.multiply(x, op.add(number(0.5), curve))


def quick(x: relax.Expr) -> relax.Expr:
    """GELU as CLIP has it, of which there is no operator."""
    return op.multiply(x, op.sigmoid(op.multiply(x, number(1.702))))


WHOLE: dict[str, tuple[Body, str]] = {
    **{f"gelu, order {order}": (in_order(order), "nn.gelu")
       for order in itertools.permutations(range(3))},
    "gelu, root by a product": (
        lambda x: op.multiply(op.multiply(number(0.5), x), op.add(
            number(1), op.erf(op.multiply(x, number(0.70710678))))), "nn.gelu"),
    "gelu, half of the curve": (half_of_curve, "nn.gelu"),
    "gelu, divided by 2": (lambda x: op.divide(op.multiply(x, erf_part(x)), number(2)), "nn.gelu"),
    "gelu, half of x": (lambda x: op.multiply(op.multiply(x, number(0.5)), erf_part(x)), "nn.gelu"),
    "gelu_tanh, Pow": (
        lambda x: product([number(0.5), x, tanh_part(x, op.power(x, number(3)))]), "nn.gelu_tanh"),
    "gelu_tanh, products": (
        lambda x: product([x, tanh_part(x, product([x, x, x])), number(0.5)]), "nn.gelu_tanh"),
    "gelu_tanh, factored": (
        lambda x: product([x, number(0.5), op.add(number(1), op.tanh(product([
            number(0.7978845608), x,
            op.add(number(1), product([number(0.044715), x, x]))])))]), "nn.gelu_tanh"),
    "silu": (lambda x: op.multiply(x, op.sigmoid(x)), "nn.silu"),
    "silu, other order": (lambda x: op.multiply(op.sigmoid(x), x), "nn.silu"),
    "silu, one division": (
        lambda x: op.divide(x, op.add(number(1), op.exp(op.negative(x)))), "nn.silu"),
    "silu, of the logistic": (lambda x: op.multiply(x, logistic(x)), "nn.silu"),
    "sigmoid": (logistic, "sigmoid"),
    "sigmoid, by a product": (
        lambda x: op.divide(number(1), op.add(op.exp(op.multiply(x, number(-1))), number(1))),
        "sigmoid"),
}  # fmt: skip

LARGE = np.ones(SHAPE, np.float32)
KEPT: dict[str, Body] = {
    "another number for the root": lambda x: product([x, erf_part(x, 1.5), number(0.5)]),
    "few digits of the root": lambda x: product([x, erf_part(x, 1.414), number(0.5)]),
    "another factor": lambda x: product([x, erf_part(x), number(0.501)]),
    "no operator has it": quick,
    "a clipped operand": lambda x: product([x, erf_part(op.clip(x, -1, 1)), number(0.5)]),
    "an operand that is clipped by an extreme": lambda x: product(
        [x, erf_part(op.minimum(x, number(2))), number(0.5)]
    ),
    "a constant of more numbers": lambda x: product([x, op.add(erf_part(x), relax.const(LARGE))]),
    "a ramp of another slope": lambda x: op.divide(
        op.multiply(x, op.clip(op.add(x, number(3)), 0, 6)), number(5)
    ),
    "no curve": lambda x: op.multiply(op.multiply(x, x), number(0.5)),
}


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_pieces_become_the_operator(name: str) -> None:
    body, wanted = WHOLE[name]
    before = build(body, SHAPE)
    after = WholeActivations()(before)
    assert operators(after) == ["relax." + wanted]
    x = np.linspace(-6, 6, 15, dtype=np.float32).reshape(SHAPE)
    (want,), (got,) = run(before, x), run(after, x)
    assert_close(got, want, 1e-6)


def ramp(x: relax.Expr) -> relax.Expr:
    return op.clip(op.add(x, number(3)), 0, 6)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: op.divide(op.multiply(x, ramp(x)), number(6)),
        lambda x: op.multiply(op.multiply(x, ramp(x)), number(1 / 6)),
        lambda x: op.multiply(op.divide(ramp(x), number(6)), x),
        lambda x: op.multiply(op.multiply(number(1 / 6), x), ramp(x)),
    ],
    ids=["divided", "multiplied", "inner", "first"],
)
def test_hard_swish_has_one_form(body: Body) -> None:
    """Its kernel's form has no factor behind the product, which would go into weights alone."""
    before = build(body, SHAPE)
    after = WholeActivations()(before)
    assert operators(after) == ["relax." + name for name in ("multiply", "add", "clip", "multiply")]
    x = np.linspace(-6, 6, 15, dtype=np.float32).reshape(SHAPE)
    assert_close(run(after, x)[0], run(before, x)[0], 1e-6)
    again = WholeActivations()(after)
    assert operators(again) == operators(after)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_other_expressions_stay(name: str) -> None:
    before = build(KEPT[name], SHAPE)
    tvm.ir.assert_structural_equal(WholeActivations()(before), before)


def test_another_value_or_shape_in_a_factor_stays() -> None:
    gelu = lambda x, y: product([y, erf_part(x), number(0.5)])  # noqa: E731
    for other in (SHAPE, (5,), (2, *SHAPE)):
        before = build(gelu, SHAPE, other)
        tvm.ir.assert_structural_equal(WholeActivations()(before), before)


def test_an_operand_that_numbers_broadcast_stays() -> None:
    before = build(lambda x: product([x, erf_part(x), number([[[0.5]]])]), SHAPE)
    tvm.ir.assert_structural_equal(WholeActivations()(before), before)


def test_the_operand_may_be_in_pieces_itself() -> None:
    def body(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        z = op.add(op.multiply(x, number(3)), op.tanh(y))
        return product([z, erf_part(z), number(0.5)])

    before = build(body, SHAPE, SHAPE)
    after = WholeActivations()(before)
    assert operators(after)[-1] == "relax.nn.gelu"
    assert len(operators(after)) == 4


def test_of_a_gate_only_the_activation_is_one() -> None:
    after = WholeActivations()(build(lambda x, y: op.multiply(y, logistic(x)), SHAPE, SHAPE))
    assert operators(after) == ["relax.sigmoid", "relax.multiply"]


def test_pieces_that_are_read_elsewhere_stay() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        part = erf_part(x)
        builder = relax.BlockBuilder.current()
        part = builder.emit(part)
        return relax.Tuple([part, product([x, part, number(0.5)])])

    before = build(body, SHAPE)
    after = WholeActivations()(before)
    assert "relax.nn.gelu" in operators(after)
    x = np.linspace(-6, 6, 15, dtype=np.float32).reshape(SHAPE)
    for got, want in zip(run(after, x), run(before, x), strict=True):
        assert_close(got, want, 1e-6)


def test_an_open_batch() -> None:
    n = tirx.Var("n", "int64")
    before = build(in_order((0, 1, 2)), (n, 5))
    after = WholeActivations()(before)
    assert operators(after) == ["relax.nn.gelu"]
    x = np.linspace(-6, 6, 20, dtype=np.float32).reshape(4, 5)
    assert_close(run(after, x)[0], run(before, x)[0], 1e-6)


@pytest.mark.parametrize(("rounded", "fires"), [(True, False), (False, True)])
def test_a_model_in_f64_has_its_numbers_in_f64(rounded: bool, fires: bool) -> None:
    root = float(np.float32(math.sqrt(2))) if rounded else math.sqrt(2)
    body = lambda x: product([x, erf_part(x, root, "float64"), number(0.5, "float64")])  # noqa: E731
    after = WholeActivations()(build(body, SHAPE, dtype="float64"))
    assert (operators(after) == ["relax.nn.gelu"]) == fires


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_of_a_small_type(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))

    def small(value: float) -> relax.Expr:
        return relax.const(np.asarray(value).astype(kind), dtype)

    def gelu(x: relax.Expr) -> relax.Expr:
        part = op.erf(op.divide(x, small(math.sqrt(2))))
        return product([x, op.add(part, small(1)), small(0.5)])

    def by_tanh(x: relax.Expr) -> relax.Expr:
        cube = op.multiply(product([x, x, x]), small(0.044715))
        part = op.tanh(op.multiply(op.add(x, cube), small(math.sqrt(2 / math.pi))))
        return product([x, op.add(part, small(1)), small(0.5)])

    for body, wanted in ((gelu, "relax.nn.gelu"), (by_tanh, "relax.nn.gelu_tanh")):
        assert operators(WholeActivations()(build(body, SHAPE, dtype=dtype))) == [wanted]


def test_no_two_activations_are_taken_for_each_other() -> None:
    """The functions of a row differ by more than twice the bound, in each type."""
    rows = list(ACTIVATIONS.values())
    for (erf, f), (other_erf, g) in itertools.combinations(rows, 2):
        with np.errstate(all="ignore"):
            apart = np.abs(f(POINTS) - g(POINTS))
        for dtype in TOLERANCE:
            assert erf != other_erf or np.any(apart > 2 * bound_of(dtype))


@pytest.mark.parametrize(("dtype", "digits"), [("f32", 24), ("f16", 11), ("bf16", 8)])
def test_the_bound_is_what_rounded_numbers_make(dtype: str, digits: int) -> None:
    """Each number off by half a unit of its type, in f64: the bound is 1 to 20 times the worst."""
    x = POINTS.astype(np.float64)
    off = 2.0**-digits
    worst = np.zeros_like(x)
    erf = np.vectorize(math.erf)
    for a, b, c in itertools.product((-1, 1), repeat=3):
        with np.errstate(all="ignore"):
            by_erf = 0.5 * x * (1 + erf(x / (math.sqrt(2) * (1 + a * off))))
            line = x + 0.044715 * (1 + b * off) * x**3
            by_tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (1 + c * off) * line))
            exact = [f(x) for _, f in ACTIVATIONS.values()]
        worst = np.maximum(worst, np.abs(by_erf - exact[0]))
        worst = np.maximum(worst, np.abs(by_tanh - exact[1]))
    assert np.all(worst <= bound_of(dtype))
    assert np.any(20 * worst > bound_of(dtype))
