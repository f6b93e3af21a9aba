"""Expressions of kernel headers: functions, lets, and symbolic sizes beside their values."""

from __future__ import annotations

import random

import harness
import pytest

from tvm_megcc.core.machine import ROWS
from tvm_megcc.dims import Dim, Undecided, symbol
from tvm_megcc.kernels import registry
from tvm_megcc.kernels.expression import Expression

#: Facts that a model may leave open.
_SIZES = "axis b c count h inner k m n oh outer ow size w".split()


@pytest.mark.parametrize(
    ("a", "b", "ceil", "up"),
    [(0, 4, 0, 0), (1, 4, 1, 4), (8, 4, 2, 8), (9, 4, 3, 12), (5, 1, 5, 5)],
)
def test_ceil_and_up(a: int, b: int, ceil: int, up: int) -> None:
    dim = symbol("a", 0, 100)
    for text, want in (("ceil(a, b)", ceil), ("up(a, b)", up)):
        assert Expression(text)({"a": a, "b": b}) == want
        found = Expression(text)({"a": dim, "b": b})
        assert found == dim if b == 1 else isinstance(found, Dim) and found.at({"a": a}) == want


def test_ceil_is_the_size_that_is_written_by_hand() -> None:
    """Equal sizes are one object, so programs of either are equal."""
    dim = symbol("a")
    assert Expression("ceil(a, 8)")({"a": dim}) == (dim + 7) // 8
    assert Expression("up(a, 8)")({"a": dim}) == (dim + 7) // 8 * 8


def test_a_let_is_its_formula() -> None:
    tiles = Expression("ceil(oh, TILE)", {"TILE": 4})
    both = Expression("n * tiles", lets={"tiles": tiles})
    half = Expression("both // 2 + min(both, x)", {"x": 3}, {"both": both, "tiles": tiles})
    assert half.names == {"n", "oh"} and half({"n": 3, "oh": 5}) == 6
    assert half({"n": symbol("n"), "oh": 5}).at({"n": 3}) == 6
    assert half.spelled_out == "(n * (ceil(oh, TILE))) // 2 + min((n * (ceil(oh, TILE))), x)"
    with pytest.raises(KeyError, match="needs the fact 'oh'"):
        half({"n": 3})


def test_a_let_is_computed_where_it_is_taken() -> None:
    """As what is written in its place: a branch that is not taken may divide by zero."""
    share = Expression("n // g")
    assert Expression("share if g else 0", lets={"share": share})({"n": 4, "g": 0}) == 0


#: Keys of headers whose formulas are sizes.
SIZES = {"workspace", "work", "cost", "overlap", "weights", "instructions"}


@pytest.mark.parametrize("op", sorted(harness.case_modules()))
def test_headers_say_the_same_of_a_size_and_of_its_value(op: str) -> None:
    """Every formula with some of a case's sizes open, at the values that the case has."""
    compared = 0
    for kernel in registry.kernels_of(op):
        served = [
            c for c in harness.cases_of(op) if any(not kernel.refusal(a, c.facts) for a in ROWS)
        ]
        for case in served[:: max(1, len(served) // 3)]:
            known = [n for n in _SIZES if n in kernel.contract.attributes]
            chosen = random.Random(case.index).sample(known, min(2, len(known)))
            values = {name: int(case.facts[name]) for name in chosen}
            facts = {**case.facts, **{name: symbol(name, 0, 4096) for name in chosen}}
            for what in SIZES & kernel.formulas.keys():
                formula = kernel.formulas[what]
                try:
                    size = formula(facts)
                except Undecided:
                    continue  # the kernel is not for such a call
                if isinstance(size, Dim):
                    compared += 1
                    want = formula(case.facts)
                    assert size.at(values) == want, f"{kernel.stem}: {what} with {chosen} open"
    assert compared
