"""Integers at the ends of their types: powers, sums that wrap, constants beyond int64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from tests.ops.cases import Weight
from tests.ops.together import Case, check_together

pytestmark = pytest.mark.slow

OPSET = 18
BEYOND = 13992354179596837042
X = np.array([1, 2**63 + 5, BEYOND, 7, 2**64 - 1], np.uint64)


def power(base: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """By integers of any size; what does not fit keeps its low bits."""
    bits = 8 * base.dtype.itemsize
    found = np.empty(np.broadcast(base, exponents).shape, f"u{base.dtype.itemsize}")
    for at, (b, e) in zip(np.ndindex(found.shape), np.broadcast(base, exponents), strict=True):
        b, e = int(b), int(e)
        if e < 0:
            value = {1: 1, -1: -1 if e % 2 else 1}.get(b, 0)
        else:
            value = pow(b, e, 1 << bits)
        found[at] = value % (1 << bits)
    return found.view(base.dtype)


def powers(base: str, exponent: str) -> list[Case]:
    ends, last = np.iinfo(base), np.iinfo(exponent)
    b = np.array([0, 1, -1, 2, -2, 3, 7, -5, 10, ends.min, ends.max], base)[:, None]
    few = [-4, -3, -1, last.min] if last.min else []
    e = np.array([0, 1, 2, 5, 9, 31, 38, 39, 40, 63, 64, last.max, *few], exponent)
    return [
        Case("Pow", [b, e], opset=OPSET, want=[power(b, e)]),
        Case("Pow", [b, Weight(e[7:8])], opset=OPSET, want=[power(b, e[7:8])]),
    ]


def test_powers_of_integers(tmp_path: Path) -> None:
    """3 ** 39 is no f64, and a power that does not fit wraps as products do."""
    types = ("int32", "int8"), ("int32", "uint64"), ("int64", "int64"), ("int64", "uint16")
    cases = [case for pair in types for case in powers(*pair)]
    check_together([*cases, Case("Pow", [np.array(3), np.array(39)], opset=OPSET,
                                 want=[np.array(3**39)])], tmp_path)  # fmt: skip


def test_sums_and_products_wrap(tmp_path: Path) -> None:
    x = np.array([[2**31 - 1, 2**30, 5], [-(2**31), 7, -3]], np.int32)
    with np.errstate(all="ignore"):
        want = {
            "ReduceSumSquare": (x * x).sum(1, dtype=np.int32),
            "ReduceSum": x.sum(1, dtype=np.int32),
            "ReduceProd": x.prod(1, dtype=np.int32),
            "ReduceL1": np.abs(x).sum(1, dtype=np.int32),
        }
        sums = [
            Case(op, [x, Weight(np.array([1]))], {"keepdims": 0}, opset=OPSET, want=[found])
            for op, found in want.items()
        ]
        sums += [
            Case(op, [x, x[::-1].copy()], opset=OPSET, want=[f(x, x[::-1])])
            for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply))
        ]
    check_together(sums, tmp_path)


def test_constants_beyond_int64(tmp_path: Path) -> None:
    scalar, vector = Weight(np.array(BEYOND, np.uint64)), Weight(np.array([BEYOND], np.uint64))
    rows = [
        *((op, [x, y]) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "BitwiseXor",
                                  "Equal", "Less", "GreaterOrEqual")
          for x, y in ((X, scalar), (scalar, X), (X, vector))),
        ("Where", [X > 7, X, scalar]),
        ("Clip", [X, Weight(np.array(2**63 + 1, np.uint64)), scalar]),
        ("Clip", [X, Weight(np.array(3, np.uint64)), scalar]),
        ("Pad", [X, np.array([1, 2]), scalar]),
        ("Expand", [scalar, np.array([2, 3])]),
        ("Concat", [X, vector], {"axis": 0}),
        ("ScatterND", [X, np.array([[1]]), vector]),
        ("ConstantOfShape", [np.array([2, 3])],
         {"value": numpy_helper.from_array(np.array([BEYOND], np.uint64))}),
    ]  # fmt: skip
    check_together(
        [Case(op, operands, *attrs, opset=OPSET, by="reference") for op, operands, *attrs in rows],
        tmp_path,
    )


def test_norms_and_logarithms_are_those_of_real_numbers(tmp_path: Path) -> None:
    """Their parts need not fit: only the result is cut to an integer."""
    axes = Weight([1], "int64")
    cases = []
    for dtype, size in (("int32", 2**28), ("int64", 2**31)):
        x = np.array([[2 * size, 3 * size, 6 * size], [-5, -2, -3]], dtype)
        wants = {"ReduceL2": [7 * size, 6], "ReduceLogSumExp": [6 * size, -1]}
        wants["ReduceLogSum"] = [int(np.log(11 * size)), 2]
        for op, want in wants.items():
            data = abs(x) if op == "ReduceLogSum" else x
            wanted = [np.array(want, dtype)[:, None]]
            for operand in (data, Weight(data)):  # a constant is not left to onnx.reference
                cases.append(Case(op, [operand, axes], opset=OPSET, want=wanted))
    check_together(cases, tmp_path)


def test_slopes_of_integers(tmp_path: Path) -> None:
    """A slope that no f64 has, for all elements, for one channel each, and given when it runs."""
    slope = np.array([-5836436717384958301, 2**53 + 1, 3])
    x = np.array([[-1, 4, -7], [5, -1, 2**62 + 1]])
    cases = [
        Case("PRelu", [x, operand], opset=OPSET, want=[np.where(x < 0, x * s, x)])
        for s in (slope[:1], slope)
        for operand in (s, Weight(s))
    ]
    check_together(cases, tmp_path)


def test_gemm_by_a_factor_beyond_its_integers(tmp_path: Path) -> None:
    a, b, c = (np.arange(n, dtype="uint32").reshape(-1, 2) for n in (4, 4, 2))
    attrs = {"alpha": -1.0, "beta": 2.0**33 + 3 * 2.0**10}
    want = (c.astype("i8") * int(attrs["beta"]) - (a @ b).astype("i8")).astype("uint32")
    rows = [[a, b, c], [a, Weight(b), Weight(c)]]
    check_together([Case("Gemm", row, attrs, OPSET, want=[want]) for row in rows], tmp_path)
