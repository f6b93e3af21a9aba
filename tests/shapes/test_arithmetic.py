"""Shape arithmetic: what it gives for symbolic dims is, at every size, what ONNX computes there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tvm_megcc.dims import at, symbol, written
from tvm_megcc.frontend import fold, symbolic
from tvm_megcc.frontend.values import attributes
from tvm_megcc.shapes import sizes
from tvm_megcc.shapes.sizes import Real, SizeArray, size_array, truncdiv

OPSETS = {"": 18}
H, W = symbol("h", 1), symbol("w", 0, 64)
SIZES = [{"h": 1, "w": 0}, {"h": 2, "w": 64}, {"h": 7, "w": 3}, {"h": 640, "w": 17}]


def node(op, count, outputs=1, **attrs):
    names = [f"o{k}" for k in range(outputs)]
    return helper.make_node(op, [f"i{k}" for k in range(count)], names, **attrs)


def symbolically(made: onnx.NodeProto, operands):
    """The results of a node, symbolic or not; None where it is left to the converters."""
    if any(isinstance(o, SizeArray) for o in operands):
        return symbolic.evaluate(made, operands, attributes(made), OPSETS)
    return fold.fold(made, operands, OPSETS)


def number(item, values):
    if isinstance(item, Real):
        return at(item.top, values) / at(item.bottom, values)
    return at(item, values)


def at_sizes(array, values):
    """The array for given sizes."""
    if not isinstance(array, SizeArray):
        return array
    numbers = [number(item, values) for item in array.flat()]
    return np.array(numbers, dtype=array.dtype).reshape(array.shape)


def check(made, operands):
    """Evaluate once, compare with onnx's reference at several sizes; returns the results."""
    results = symbolically(made, operands)
    assert results is not None
    for values in SIZES:
        want = fold.fold(made, [at_sizes(o, values) for o in operands], OPSETS)
        assert want is not None
        for got, expected in zip(results, want, strict=True):
            concrete = at_sizes(got, values)
            assert (concrete.dtype, concrete.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(concrete, expected, rtol=1e-6)
    return results


def ints(*items):
    return size_array(items, (len(items),), "int64")


def scalar(item):
    return size_array([item], (), "int64")


def floats(*items):
    return size_array([Real.of(i) for i in items], (len(items),), "float32")


SHAPE = ints(H, W, 3, H * 2 + W)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Min", "Max", "Equal", "Less", "Greater",
                                "LessOrEqual", "GreaterOrEqual"])  # fmt: skip
def test_two_operands(op):
    check(node(op, 2), [SHAPE, ints(W, 5, H, 2)])
    check(node(op, 2), [SHAPE, np.array(4)])
    check(node(op, 2), [floats(H, W), floats(2.5, H)])


@pytest.mark.parametrize("divisor", [1, 2, -3, 7])
def test_division_truncates(divisor):
    odd = ints(H - 5, 3 - H, H, -W, W - H)
    check(node("Div", 2), [odd, np.array([divisor])])
    check(node("Mod", 2, fmod=1), [odd, np.array([divisor])])
    if divisor > 0:
        check(node("Mod", 2), [odd, np.array([divisor])])


def test_division_by_a_size():
    check(node("Div", 2), [ints(H * 6 + W, H * 4), ints(H, H)])
    assert symbolic.evaluate(node("Div", 2), [ints(H), ints(W - 3)], {}, OPSETS) is None


@pytest.mark.parametrize("op", ["Neg", "Abs", "Sign", "Floor", "Ceil", "Round"])
def test_one_operand(op):
    if op not in ("Floor", "Ceil", "Round"):
        check(node(op, 1), [ints(H - 3, -W, W + 1)])
    check(node(op, 1), [floats(Real(H * 2, 3), Real(W - 4, 5), H)])


def test_division_by_nothing_is_left():
    for zero in (np.array([0]), ints(H - H)):
        assert symbolic.evaluate(node("Div", 2), [SHAPE, zero], {}, OPSETS) is None
        mod = node("Mod", 2)
        assert symbolic.evaluate(mod, [SHAPE, zero], attributes(mod), OPSETS) is None
    zero = np.zeros(1, np.float32)
    assert symbolic.evaluate(node("Div", 2), [floats(H), zero], {}, OPSETS) is None


def test_truth():
    small = check(node("Less", 2), [SHAPE, ints(W, 9, 3, 9)])[0]
    even = check(node("Equal", 2), [ints(H, W, 0, H), ints(2, 3, W, 7)])[0]
    for op in ("And", "Or", "Xor"):
        check(node(op, 2), [small, even])
    check(node("Not", 1), [small])
    check(node("Where", 3), [small, SHAPE, ints(1, 2, H, W)])
    check(node("Cast", 1, to=onnx.TensorProto.INT64), [small])
    check(node("Cast", 1, to=onnx.TensorProto.BOOL), [ints(W, H - 7)])


def test_moved_elements():
    grid = size_array([H, W, 3, 4, H + W, 5], (2, 3), "int64")
    check(node("Transpose", 1, perm=[1, 0]), [grid])
    check(node("Gather", 2, axis=1), [grid, np.array([-1, 0])])
    check(node("Slice", 5), [grid, *map(np.array, ([2], [-4], [1], [-1]))])
    check(node("Reshape", 2), [grid, np.array([0, -1, 1])])
    check(node("Unsqueeze", 2), [grid, np.array([0, 3])])
    check(node("Concat", 2, axis=0), [grid, np.ones((1, 3), np.int64)])
    check(node("Split", 2, 2, axis=1), [grid, np.array([1, 2])])
    check(node("Expand", 2), [ints(H), np.array([3])])
    check(node("Tile", 2), [grid, np.array([1, 2])])
    check(node("Flatten", 1, axis=0), [grid])
    check(node("Pad", 2), [SHAPE, np.array([1, 2])])
    check(node("GatherND", 2), [grid, np.array([[1, 1]])])
    check(node("GatherElements", 2, axis=0), [grid, np.array([[1, 0, 1]])])
    check(node("ScatterND", 3), [np.zeros(4, np.int64), np.array([[2], [0]]), ints(H, W)])
    check(node("ScatterElements", 3), [SHAPE, np.array([1, 3]), ints(H, 8)])
    check(node("Compress", 2, axis=0), [SHAPE, np.array([True, False, True, False])])


@pytest.mark.parametrize("op", ["ReduceProd", "ReduceSum", "ReduceMin", "ReduceMax"])
def test_reductions(op):
    grid = size_array([H, W, 3, 4, H + W, 5], (2, 3), "int64")
    check(node(op, 1, keepdims=0), [SHAPE])
    check(node(op, 2), [grid, np.array([-1])])
    check(node(op, 2, keepdims=0), [grid, np.array([0])])


def test_range_of_a_known_length():
    (result,) = check(node("Range", 3), [scalar(H), scalar(H + 6), np.array(2)])
    assert [str(i) for i in result.flat()] == ["h", "h + 2", "h + 4"]


def test_range_of_a_symbolic_length_is_a_tensor():
    operands = [np.array(0), scalar(H), np.array(1)]
    assert symbolic.evaluate(node("Range", 3), operands, {}, OPSETS) is None


@pytest.mark.parametrize("scale", [0.5, 2.0, 0.1, 0.7, 1.5, 1 / 3, 0.25])
@pytest.mark.parametrize("rounding", ["Floor", "Ceil"])
def test_float_detour(scale, rounding):
    factor = np.array(scale, np.float32)
    (real,) = check(node("Cast", 1, to=onnx.TensorProto.FLOAT), [SHAPE])
    (product,) = check(node("Mul", 2), [real, factor])
    (whole,) = check(node(rounding, 1), [product])
    (result,) = check(node("Cast", 1, to=onnx.TensorProto.INT64), [whole])
    for height in range(1, 3000):
        values = {"h": height, "w": 5}
        want = getattr(np, rounding.lower())(np.float32(height) * factor)
        assert number(result.flat()[0], values) == want


def test_float_without_a_fraction_is_left():
    assert symbolic.evaluate(
        node("Mul", 2), [floats(H), np.array([np.pi], np.float32)], {}, OPSETS
    ) is None  # fmt: skip


def test_quotients_of_sizes_cancel():
    (ratio,) = check(node("Div", 2), [floats(H * 2), floats(H)])
    assert ratio.tolist() == [2.0]


def test_floats_that_are_rounded_twice_are_left():
    scale, third = Real(800, H), Real(H, 3)
    chains = [("Mul", scale, H), ("Div", scale, H), ("Mul", third, 3), ("Mul", third, 4),
              ("Add", third, Real(W, 5)), ("Add", third, 0.25), ("Less", third, Real(W, 5)),
              ("Div", H, 0.1)]  # fmt: skip
    for op, a, b in chains:
        assert symbolic.evaluate(node(op, 2), [floats(a), floats(b)], {}, OPSETS) is None, (op, a)


def test_floats_that_are_rounded_once():
    third = floats(Real(H, 3))
    for op, other in [("Add", 0.5), ("Sub", 2), ("Mul", 2), ("Mul", -0.25), ("Div", 8)]:
        (result,) = check(node(op, 2), [third, floats(other)])
        check(node("Floor", 1), [result])
    check(node("Less", 2), [third, floats(W)])
    check(node("Equal", 2), [third, floats(Real(W, 3))])


def test_types_that_do_not_hold_a_size_are_left():
    for to in (onnx.TensorProto.INT8, onnx.TensorProto.UINT16):
        made = node("Cast", 1, to=to)
        assert symbolic.evaluate(made, [ints(H)], attributes(made), OPSETS) is None
        check(made, [ints(W)])
    below = size_array([W], (1,), "uint64"), np.array([5], np.uint64)
    assert symbolic.evaluate(node("Sub", 2), below, {}, OPSETS) is None


def test_static_results_are_plain_arrays():
    (result,) = check(node("Sub", 2), [ints(H + 2), ints(H)])
    assert isinstance(result, np.ndarray) and result.tolist() == [2]


def test_clip_and_pow():
    check(node("Clip", 3), [SHAPE, np.array(2), np.array(9)])
    check(node("Clip", 3), [SHAPE, ints(W), ints(H + W)])
    check(node("Pow", 2), [SHAPE, np.array([2])])


# ---- random chains -----------------------------------------------------------------------------

_CONSTANT = st.integers(-4, 9)


@st.composite
def steps(draw):
    """A node and the constants beside the running value, all vectors of four."""
    kind = draw(st.sampled_from(
        ["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Neg", "Abs", "Where", "Gather",
         "Slice", "ReduceSum", "half"]
    ))  # fmt: skip
    vector = np.array(draw(st.lists(_CONSTANT, min_size=4, max_size=4)))
    if kind in ("Div", "Mod"):
        vector = np.where(vector == 0, 3, np.abs(vector) if kind == "Mod" else vector)
    return kind, vector


def apply(kind, vector, value):
    """One step as a few nodes with their operands; None stands for the value before."""
    if kind in ("Neg", "Abs"):
        return [(node(kind, 1), [None])]
    if kind == "Where":
        return [(node("Less", 2), [None, vector]), (node("Where", 3), [None, value, vector])]
    if kind == "Gather":
        return [(node("Gather", 2), [None, vector % 4])]
    if kind == "Slice":
        return [(node("Slice", 5), [None, *map(np.array, ([-1], [-9], [0], [-1]))])]
    if kind == "ReduceSum":
        total = node("ReduceSum", 2)
        return [(total, [None, np.array([0])]), (node("Expand", 2), [None, np.array([4])])]
    if kind == "half":
        to_float = node("Cast", 1, to=onnx.TensorProto.FLOAT)
        back = node("Cast", 1, to=onnx.TensorProto.INT64)
        half = np.array(0.5, np.float32)
        return [(to_float, [None]), (node("Mul", 2), [None, half]), (node("Floor", 1), [None]),
                (back, [None])]  # fmt: skip
    return [(node(kind, 2), [None, vector])]


@settings(deadline=None, max_examples=120)
@given(
    st.lists(steps(), min_size=1, max_size=4),
    st.integers(1, 200),
    st.integers(0, 64),
)
def test_random_chains(chain, height, width):
    values = {"h": height, "w": width}
    value = ints(H, W, 5, H + W)
    for kind, vector in chain:
        stage = value
        concrete = at_sizes(value, values)
        for made, operands in apply(kind, vector, value):
            given_now = [stage if o is None else o for o in operands]
            known = [concrete if o is None else at_sizes(o, values) for o in operands]
            results = symbolically(made, given_now)
            written_in = sum(len(str(o)) for o in given_now if isinstance(o, SizeArray))
            if results is None and written_in > sizes.MOST_WRITTEN // 2:
                return  # the run computes it
            assert results is not None, made.op_type
            (expected,) = fold.fold(made, known, OPSETS)
            stage, concrete = results[0], expected
            np.testing.assert_array_equal(at_sizes(stage, values), expected)
        if np.abs(concrete).max() > 1 << 22:
            return  # beyond what f32, and a size, can hold
        value = stage


OPEN = symbol("n")  # may be 0, as an open dim may


@pytest.mark.parametrize("by", [1, 2, 3, 16, -4, symbol("m", 1, 5)], ids=str)
@pytest.mark.parametrize(
    "size",
    [OPEN, OPEN - 1, OPEN - 2, 2 * OPEN - 5, 3 - OPEN, -OPEN, OPEN - symbol("m", 1, 5)],
    ids=str,
)
def test_integers_are_divided_towards_0(size, by):
    quotient = truncdiv(size, by)
    for n in range(40):
        for m in range(1, 6):
            values = {"n": n, "m": m}
            assert at(quotient, values) == int(at(size, values) / at(by, values))


def test_what_is_above_minus_the_divisor_is_one_quotient():
    """Of torch's ``(h - 1)//16 + 1`` many are multiplied: each choice would double their terms."""
    assert str(truncdiv(OPEN - 1, 16) + 1) == "max(n - 1, 0)//16 + 1"
    assert written(truncdiv(2 * OPEN - 5, 3)) < 20
