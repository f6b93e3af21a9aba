"""QuantisedMoves, IntegerForm, NarrowMoves: quantised operators reach integer kernels."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import build, operators, run
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.passes import (
    ChannelsLast,
    FoldConstants,
    ImplicitBroadcast,
    IntegerForm,
    MaterialiseKernels,
    NarrowMoves,
    QuantisedMoves,
    WindowsTo2d,
)
from tvm_megcc.relax_tools.work_attributes import work_of

op = relax.op
RNG = np.random.default_rng(0)
X = (1, 4, 5, 6)


def number(value: float, dtype: str) -> relax.Expr:
    return relax.const(np.asarray(value, dtype))


def quantize(x: relax.Expr, step: float = 0.05, zero: int = 3, dtype: str = "int8") -> relax.Expr:
    return op.quantize(x, number(step, "float32"), number(zero, dtype), axis=0, out_dtype=dtype)


def dequantize(x: relax.Expr, step: float = 0.05, zero: int = 3, dtype: str = "int8"):
    return op.dequantize(x, number(step, "float32"), number(zero, dtype), axis=0)


def held(x: relax.Expr, step: float = 0.05, zero: int = 3, dtype: str = "int8") -> relax.Expr:
    """A real tensor as it is after 8 bits."""
    return dequantize(quantize(x, step, zero, dtype), step, zero, dtype)


def weights(*shape: int, low: int = -127, zero: int = 0, dtype: str = "int8", axis: int = 0):
    info = np.iinfo(dtype)
    values = RNG.integers(max(low, info.min), info.max, shape, dtype, endpoint=True)
    values.flat[:2] = max(low, info.min), info.max
    steps = (0.002 * RNG.uniform(1, 2, shape[axis])).astype("float32")
    point = relax.const(np.full(shape[axis], zero, dtype))
    return op.dequantize(relax.const(values), relax.const(steps), point, axis=axis)


def bias(step: float, w: relax.Call) -> relax.Expr:
    """Of a convolution's own scales."""
    steps = w.args[1].value.numpy() * np.float32(step)
    values = relax.const(RNG.integers(-900, 900, steps.size, "int32"))
    zero = relax.const(np.zeros(steps.size, "int32"))
    return op.dequantize(values, relax.const(steps), zero, axis=0)


def conv(x: relax.Expr, **more: object) -> relax.Expr:
    return op.nn.conv2d(held(x), weights(6, 4, 3, 3), padding=1, **more)


def biased(x: relax.Expr) -> relax.Expr:
    w = weights(6, 4, 3, 3)
    y = op.nn.conv2d(held(x), w, padding=1)
    return op.add(y, op.reshape(bias(0.05, w), (1, 6, 1, 1)))


def in_integers(mod: tvm.IRModule) -> tvm.IRModule:
    return tvm.transform.Sequential([QuantisedMoves(), IntegerForm()])(mod)


def materialisable(mod: tvm.IRModule) -> tvm.IRModule:
    passes = [WindowsTo2d(), ImplicitBroadcast(), FoldConstants(), ChannelsLast(), NarrowMoves()]
    return tvm.transform.Sequential([in_integers, *passes][1:])(in_integers(mod))


def served(body: Callable[..., relax.Expr], *shapes: tuple[int, ...]) -> list[str]:
    """The kernel calls that are made of a function, with what says how sums end."""
    names = (
        "x",
        "out",
        "act",
        "offset",
        "narrow",
        "zero_operand",
        "low",
        "bias",
        "w_zero",
        "trans_b",
    )
    found = []
    mod = materialisable(build(body, *shapes))
    for match in find_matches(mod["main"], "portable").values():
        facts = match.request.facts
        said = [f"{k}={facts[k]}" for k in names if facts.get(k)]
        found.append(" ".join([match.request.op, *said]))
    return found


#: Name -> function, its inputs' shapes, the kernel calls.
ROWS: dict[str, tuple[Callable[..., relax.Expr], list[tuple[int, ...]], list[str]]] = {
    "conv": (conv, [X], ["qconv2d out=1 narrow=1"]),
    "stored": (lambda x: quantize(conv(x)), [X], ["qconv2d out=2 narrow=1 low=-128"]),
    "stored_u8": (
        lambda x: quantize(conv(x), 0.05, 7, "uint8"), [X], ["qconv2d out=2 narrow=1"]),
    "relu": (
        lambda x: quantize(op.nn.relu(conv(x)), 0.05, -5), [X],
        ["qconv2d out=2 narrow=1 low=-5"]),
    "clip": (
        lambda x: quantize(op.clip(conv(x), 0.5, 6.0), 0.05, -50), [X],
        ["qconv2d out=2 narrow=1 low=-40"]),
    "limits_of_bytes": (
        lambda x: op.clip(quantize(conv(x), 0.05, -50), -50, 70), [X],
        ["qconv2d out=2 narrow=1 low=-50"]),
    "limits_that_all_bytes_keep": (
        lambda x: op.clip(quantize(conv(x)), -128, 127), [X],
        ["qconv2d out=2 narrow=1 low=-128"]),
    "bias": (lambda x: quantize(biased(x)), [X], ["qconv2d out=2 narrow=1 low=-128"]),
    "real_bias": (
        lambda x: quantize(op.add(conv(x), relax.const(np.ones((1, 6, 1, 1), "float32")))), [X],
        ["qconv2d out=2 offset=1 narrow=1 low=-128"]),
    "wide": (
        lambda x: op.nn.conv2d(held(x), weights(6, 4, 3, 3, low=-128), padding=1), [X],
        ["qconv2d out=1"]),
    "unsigned": (
        lambda x: op.nn.conv2d(
            held(x), weights(6, 4, 3, 3, low=0, zero=100, dtype="uint8"), padding=1), [X],
        ["qconv2d out=1 w_zero=-28"]),
    # No limit before 8 bits: the number is stored, and quantised by another call.
    "sigmoid": (
        lambda x: quantize(op.sigmoid(conv(x))), [X], ["qconv2d out=1 act=3 narrow=1"]),
    "lines": (
        lambda x: quantize(op.nn.conv1d(held(x), weights(6, 4, 3), padding=1)), [(1, 4, 9)],
        ["qconv2d out=2 narrow=1 low=-128"]),
    "two_readers": (
        lambda x: op.add(op.nn.conv2d(y := held(x), weights(6, 4, 1, 1)),
                         op.nn.conv2d(y, weights(6, 4, 1, 1))), [X],
        ["qconv2d out=1 narrow=1", "qconv2d out=1 narrow=1"]),
    "matmul": (
        lambda x: quantize(op.matmul(held(x), weights(6, 7, axis=1))), [(3, 6)],
        ["qmatmul out=2 narrow=1 low=-128 bias=1"]),
    "gemm": (
        lambda x: quantize(op.matmul(held(x), op.permute_dims(weights(7, 6)))), [(3, 6)],
        ["qmatmul out=2 narrow=1 low=-128 bias=1"]),
    "both_computed": (
        lambda x, y: quantize(op.matmul(held(x), held(y))), [(2, 3, 6), (2, 6, 5)],
        ["qmatmul out=2 low=-128"]),
    "transposed": (
        lambda x, y: quantize(op.matmul(held(x), op.permute_dims(held(y), [0, 2, 1]))),
        [(2, 3, 6), (2, 5, 6)], ["qmatmul out=2 low=-128 trans_b=1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_one_kernel_takes_what_follows_the_sums(name: str) -> None:
    body, shapes, expected = ROWS[name]
    calls = [s for s in served(body, *shapes) if s.startswith(("qconv", "qmatmul"))]
    assert sorted(calls) == sorted(expected)


@pytest.mark.parametrize("name", ROWS)
def test_the_numbers_stay(name: str) -> None:
    """Within a step of 8 bits, and to rounding where they are real."""
    body, shapes, _ = ROWS[name]
    before = build(body, *shapes)
    inputs = [RNG.standard_normal(s).astype("float32") for s in shapes]
    ((was,), (now,)) = (run(mod, *inputs) for mod in (before, in_integers(before)))
    if was.dtype.kind == "f":
        assert np.abs(was - now).max() <= 1e-5 * max(1, np.abs(was).max())
    else:
        assert np.abs(was.astype(int) - now.astype(int)).max() <= 1


def test_what_no_kernel_takes_stays_as_it_is() -> None:
    cases = {
        "zero points of their own": lambda x: op.nn.conv2d(
            held(x), op.dequantize(
                relax.const(np.array([[[[0, 255]]] * 4] * 6, "uint8")), number(0.1, "float32"),
                relax.const(np.array([0, 255, 9, 9, 9, 9], "uint8")), axis=0), padding=1),
        "float data": lambda x: op.nn.conv2d(x, weights(6, 4, 3, 3), padding=1),
        "float weights": lambda x: op.nn.conv2d(
            held(x), relax.const(RNG.standard_normal((6, 4, 3, 3)).astype("float32")), padding=1),
        "scales of the inputs": lambda x: op.nn.conv2d(
            held(x), weights(6, 4, 3, 3, axis=1), padding=1),
    }  # fmt: skip
    for name, body in cases.items():
        mod = build(body, X)
        made = IntegerForm()(mod).without_attr("tvm_megcc.in_float")
        tvm.ir.assert_structural_equal(made, mod), name


def test_what_stays_in_float_says_why() -> None:
    given = relax.const(RNG.standard_normal((6, 4, 3, 3)).astype("float32"))
    made = IntegerForm()(build(lambda x: op.nn.conv2d(held(x), given, padding=1), X))
    (why,) = json.loads(str(made.attrs["tvm_megcc.in_float"])).values()
    assert why == "its weights or their scales are not constant"
    kernels = MaterialiseKernels("portable")(ChannelsLast()(made))
    said = work_of(kernels)
    assert said.multiply_adds == {"f32": 4 * 5 * 6 * 6 * 9} and list(said.in_float.values()) == [
        why
    ]
    integers = MaterialiseKernels("portable")(materialisable(build(conv, X)))
    assert work_of(integers).multiply_adds == {"i8": 4 * 5 * 6 * 6 * 9}


#: Of products whose sums no i32 holds, whatever the data is, or whose scales no f32 has as reals.
FAR = {
    "many terms": (
        lambda x: op.matmul(held(x, zero=0, dtype="uint8"), weights(40_000, 1, low=250,
                                                                    dtype="uint8", axis=1)),
        [(1, 40_000)], "a sum of so many products may not fit into 32 bits"),
    "many terms that are computed": (
        lambda x, y: op.matmul(held(x, zero=0, dtype="uint8"), held(y, zero=0, dtype="uint8")),
        [(1, 40_000), (40_000, 1)], "a sum of so many products may not fit into 32 bits"),
    "a small scale": (
        lambda x: op.matmul(held(x), op.dequantize(
            relax.const(np.array([[1], [0], [2]], "int8")), number(1e-40, "float32"),
            number(0, "int8"))),
        [(2, 3)], "its scales are so small or so large that f32 does not have their products"),
    "an infinite scale": (
        lambda x: op.matmul(held(x), op.dequantize(
            relax.const(np.array([[1], [0], [2]], "int8")), number(np.inf, "float32"),
            number(0, "int8"))),
        [(2, 3)], "its scales are so small or so large that f32 does not have their products"),
    "a large scale of the data": (
        lambda x: op.matmul(held(x, 1e37), weights(3, 2, axis=1)), [(2, 3)], None),
}  # fmt: skip


@pytest.mark.parametrize("name", FAR)
def test_reals_that_no_integers_have_stay_real(name: str) -> None:
    body, shapes, why = FAR[name]
    before = build(body, *shapes)
    made = IntegerForm()(before)
    if why is not None:
        assert list(json.loads(str(made.attrs["tvm_megcc.in_float"])).values()) == [why]
    tvm.ir.assert_structural_equal(made.without_attr("tvm_megcc.in_float"), before)


def test_a_channel_of_zeros_may_have_any_scale() -> None:
    """Quantisers give a dead channel the least scale there is."""

    def body(x: relax.Var) -> relax.Expr:
        values = np.array([[[[1]], [[2]], [[3]], [[4]]], [[[0]]] * 4], "int8")
        steps = np.array([0.1, 1e-38], "float32")
        zero = relax.const(np.zeros(2, "int8"))
        w = op.dequantize(relax.const(values), relax.const(steps), zero, axis=0)
        added = relax.const(np.array([3, 2**31 - 1], "int32"))
        spread = relax.const(steps * np.float32(0.05))
        b = op.dequantize(added, spread, relax.const(np.zeros(2, "int32")), axis=0)
        return quantize(op.add(op.nn.conv2d(held(x), w), op.reshape(b, (1, 2, 1, 1))))

    assert "qconv2d out=2 narrow=1 low=-128" in served(body, X)


def test_a_bias_that_makes_sums_wrap_is_added_to_the_number() -> None:
    def body(x: relax.Var) -> relax.Expr:
        w = weights(6, 4, 3, 3)
        steps = relax.const(w.args[1].value.numpy() * np.float32(0.05))
        zero = relax.const(np.zeros(6, "int32"))
        values = relax.const(np.full(6, 2**31 - 1, "int32"))
        added = op.reshape(op.dequantize(values, steps, zero, axis=0), (1, 6, 1, 1))
        return quantize(op.add(op.nn.conv2d(held(x), w, padding=1), added))

    assert "qconv2d out=2 offset=1 narrow=1 low=-128" in served(body, X)


def test_a_bias_of_another_scale_is_added_to_the_number() -> None:
    def body(x: relax.Var) -> relax.Expr:
        w = weights(6, 4, 3, 3)
        other = op.reshape(bias(0.07, w), (1, 6, 1, 1))
        return quantize(op.add(op.nn.conv2d(held(x), w, padding=1), other))

    assert "qconv2d out=2 offset=1 narrow=1 low=-128" in served(body, X)


def _product(k: int, step: float, weight: int, of_weights: float) -> Callable[..., relax.Expr]:
    """Of `k` terms, by one constant number of 8 bits."""

    def body(x: relax.Var) -> relax.Expr:
        w = relax.const(np.full((k, 2), weight, "int8"))
        w = op.dequantize(w, number(of_weights, "float32"), number(0, "int8"), axis=0)
        return op.matmul(held(x, step, 0, "uint8"), w)

    return body


def test_a_product_of_two_tensors_that_is_too_long_stays_in_float() -> None:
    def body(x: relax.Var, y: relax.Var) -> relax.Expr:
        return op.matmul(held(x, 0.1, 0, "uint8"), held(y, 0.1, 0, "uint8"))

    for k, is_in_float in ((33_000, False), (34_000, True)):
        made = IntegerForm()(build(body, (1, k), (k, 1)))
        assert ("tvm_megcc.in_float" in made.attrs) == is_in_float


def test_a_bias_joins_only_sums_that_hold_it() -> None:
    """The largest int32, beside a sum that is made here, and beside anybody's integers."""
    most = relax.const(np.full(2, 2**31 - 1, "int32"))
    step, zero = number(0.25, "float32"), number(0, "int32")
    large = op.dequantize(most, step, zero, axis=0)
    small = op.dequantize(relax.const(np.full(2, 5, "int32")), step, zero, axis=0)

    def sums(x: relax.Var) -> relax.Expr:
        return op.add(_product(8, 0.5, 3, 0.5)(x), large)

    def others(x: relax.Var) -> relax.Expr:
        whole = op.astype(op.astype(x, "int32"), "float32")
        return op.add(op.multiply(whole, step), small)

    for body, shape in ((sums, (2, 8)), (others, (2, 2))):
        made = IntegerForm()(build(body, shape))
        value = relax.analysis.get_var2val(made["main"])
        last = [v for v in value.values() if isinstance(v, relax.Call)][-1]
        assert last.op.name == "relax.add" and str(last.ty.dtype) == "float32"


def test_steps_by_which_bytes_are_infinite_do_not_cancel() -> None:
    for step in (3e38, np.inf):
        mod = build(lambda x, step=step: quantize(op.negative(held(x, step)), step), X)
        again = build(lambda x, step=step: quantize(held(x, step), step), X)
        for given in (mod, again):
            assert operators(QuantisedMoves()(given)) == operators(given)


@pytest.mark.parametrize(
    ("dtype", "low", "high", "step", "zero"),
    [("int8", -128, 127, 0.1, 4), ("int8", -100, 127, 1 / 3, -100), ("int8", -128, -7, 0.1, -30),
     ("int8", 5, 5, 1 / 3, 4), ("uint8", 3, 200, 0.1, 90), ("uint8", 0, 254, 1 / 3, 4)],
)  # fmt: skip
def test_limits_of_bytes_become_those_of_the_number(
    dtype: str, low: int, high: int, step: float, zero: int
) -> None:
    """To the bit, also where the number is half way between two steps."""
    eighths = (np.arange(-2500, 2500) / 8).astype("float32")
    x = np.concatenate([eighths, eighths * np.float32(step)])
    before = build(lambda v: op.clip(quantize(v, step, zero, dtype), low, high), x.shape)
    after = QuantisedMoves()(before)
    found = operators(after)
    assert found[-1] == "relax.quantize"
    assert ("relax.clip" in found) == (low > np.iinfo(dtype).min or high < np.iinfo(dtype).max)
    (want,), (got,) = run(before, x), run(after, x)
    np.testing.assert_array_equal(got, want)


def test_limits_of_bytes_that_others_read_stay() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        bytes_ = quantize(x)
        return relax.Tuple([bytes_, op.clip(bytes_, 0, 100)])

    mod = build(body, X)
    tvm.ir.assert_structural_equal(QuantisedMoves()(mod), mod)


MOVES: dict[str, tuple[Callable[[relax.Expr], relax.Expr], list[str]]] = {
    "reshape": (lambda v: op.reshape(v, (4, 30)), ["reshape"]),
    "permute": (lambda v: op.permute_dims(v, [0, 2, 3, 1]), ["permute_dims"]),
    "max_pool": (lambda v: op.nn.max_pool2d(v, 2), ["nn.max_pool2d"]),
    "resize": (
        lambda v: op.image.resize2d(v, (10, 12), layout="NCHW", method="nearest_neighbor"),
        ["image.resize2d"]),
    "take": (
        lambda v: op.take(v, relax.const(np.array([0, 0, 3, 1], "int64")), 2, "clip"), ["take"]),
    "pad": (lambda v: op.nn.pad(v, [0, 0, 0, 1, 2, 1, 3, 0]), ["nn.pad"]),
    "reflect": (lambda v: op.nn.pad(v, [0, 0, 0, 0, 2, 1, 1, 0], "reflect"), ["nn.pad"]),
    "shuffle": (
        lambda v: op.reshape(op.permute_dims(op.reshape(v, (2, 2, 30)), [1, 0, 2]), (4, 30)),
        ["reshape", "permute_dims", "reshape"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_moves_work_on_8_bits(name: str) -> None:
    """Of a tensor that is stored before and after, by equal and by other steps."""
    move, names = MOVES[name]
    wanted = ["relax." + n for n in names]
    same = QuantisedMoves()(build(lambda x: quantize(move(held(x))), X))
    assert operators(same) == ["relax.quantize", *wanted]
    other = QuantisedMoves()(build(lambda x: quantize(move(held(x)), 0.1), X))
    assert sorted(operators(other)) == sorted(
        ["relax.quantize", "relax.dequantize", "relax.quantize", *wanted]
    )
    for body in (lambda x: quantize(move(held(x))), lambda x: quantize(move(held(x)), 0.1)):
        mod = build(body, X)
        x = RNG.standard_normal(X).astype("float32")
        assert (run(mod, x)[0] == run(QuantisedMoves()(mod), x)[0]).all()


def test_what_computes_elements_stays() -> None:
    """Between neighbours, the NaN of an index that is outside, a number that no byte stands for."""
    index = relax.const(np.array([0, 9], "int64"))
    for between in (
        lambda v: op.image.resize2d(v, (10, 12), layout="NCHW", method="linear"),
        lambda v: op.take(v, index, 2, "nan"),
        lambda v: op.nn.pad(v, [0, 0, 0, 0, 1, 1, 1, 1], pad_value=0.7),
    ):
        mod = build(lambda x, f=between: quantize(f(held(x))), X)
        tvm.ir.assert_structural_equal(QuantisedMoves()(mod), mod)


def test_a_nearest_resize_is_a_kernel_of_bytes() -> None:
    def body(x: relax.Var) -> relax.Expr:
        y = op.image.resize2d(held(x), (10, 12), layout="NCHW", method="nearest_neighbor")
        return quantize(y)

    assert "resize2d" in served(body, X)


def test_concatenation_of_other_steps_is_requantised_before() -> None:
    def body(x: relax.Var, y: relax.Var) -> relax.Expr:
        return quantize(op.concat([held(x), held(y, 0.1, -4)], axis=1))

    mod = build(body, X, X)
    made = QuantisedMoves()(mod)
    assert operators(made)[-1] == "relax.concat" and operators(made).count("relax.quantize") == 3
    inputs = [RNG.standard_normal(X).astype("float32") for _ in range(2)]
    assert (run(mod, *inputs)[0] == run(made, *inputs)[0]).all()


def test_a_value_that_others_read_is_not_quantised_twice() -> None:
    def body(x: relax.Var) -> relax.Expr:
        moved = op.reshape(op.exp(x), (4, 30))
        return relax.Tuple([quantize(moved), op.exp(moved)])

    mod = build(body, X)
    tvm.ir.assert_structural_equal(QuantisedMoves()(mod), mod)


def test_moves_come_before_what_widens() -> None:
    def body(x: relax.Var) -> relax.Expr:
        wide = op.subtract(op.astype(quantize(x), "int32"), number(3, "int32"))
        return op.permute_dims(wide, [0, 2, 3, 1])

    made = NarrowMoves()(build(body, X))
    names = ["relax.quantize", "relax.permute_dims", "relax.astype", "relax.subtract"]
    assert operators(made) == names

    def untouched(x: relax.Var) -> relax.Expr:
        return op.permute_dims(op.subtract(op.astype(x, "int32"), number(3, "int32")), [0, 2, 3, 1])

    mod = build(untouched, X)
    tvm.ir.assert_structural_equal(NarrowMoves()(mod), mod)
