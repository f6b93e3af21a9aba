"""Several memories: what fits goes to the first by benefit, and a shortage is named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.problems import free_problems
from tvm_megcc.errors import InputError
from tvm_megcc.memory import DoesNotFit, Interval, Problem, plan, plan_pools, validate_pools

CHAIN = Problem(
    (
        Interval("small", 0, 2, 64), Interval("large", 1, 3, 1024), Interval("long", 0, 9, 192),
        Interval("late", 3, 5, 256),
    )
)  # fmt: skip


def test_everything_goes_to_the_first_pool_when_it_fits() -> None:
    solution = plan_pools(CHAIN, [("sram", 1280), ("psram", None)])
    validate_pools(CHAIN, [("sram", 1280), ("psram", None)], solution)
    assert {name for name, _ in solution.places} == {"sram"}
    assert solution.used == (("sram", 1280), ("psram", 0))


def test_what_does_not_fit_goes_to_the_next() -> None:
    pools = [("sram", 320), ("psram", None)]
    solution = plan_pools(CHAIN, pools)
    validate_pools(CHAIN, pools, solution)
    assert [name for name, _ in solution.places] == ["sram", "psram", "psram", "sram"]


def test_accesses_say_who_goes_first() -> None:
    problem = Problem((Interval("cold", 0, 4, 256), Interval("hot", 0, 4, 256)))
    for weights, first in [((1, 9), "hot"), ((9, 1), "cold")]:
        places = plan_pools(problem, [("a", 256), ("b", 256)], accesses=weights).places
        names = dict(zip(("cold", "hot"), places, strict=True))
        assert names[first] == ("a", 0)


def test_one_pool_is_a_plain_plan() -> None:
    solution = plan_pools(CHAIN, [("arena", None)])
    assert solution.used == (("arena", plan(CHAIN).arena_bytes),)


@settings(max_examples=60, deadline=None)
@given(free_problems, st.integers(0, 600), st.integers(0, 900))
def test_pools_are_valid(problem: Problem, first: int, second: int) -> None:
    pools = [("a", first), ("b", second), ("c", None)]
    validate_pools(problem, pools, plan_pools(problem, pools, time_limit=0.1))


def test_shortage_names_bytes_step_and_blocks() -> None:
    with pytest.raises(DoesNotFit, match="'large' of 1024|large of 1024") as caught:
        plan_pools(CHAIN, [("sram", 320), ("psram", 1000)])
    assert caught.value.step == 1
    assert caught.value.names[0] == "large"
    more = 1000 + caught.value.missing_bytes
    plan_pools(CHAIN, [("sram", 320), ("psram", more)])


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        ([], "no memory pool"),
        ([("a", 1), ("a", 2)], "'a' is given twice"),
        ([("a", -1)], "'a' has -1 bytes"),
    ],
)
def test_wrong_pools_are_refused(pools: list[tuple[str, int | None]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_pools(CHAIN, pools)
