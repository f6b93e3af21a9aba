"""Which kernel serves each call of a model: budgets, shared weights, what may not be taken."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tvm_megcc.core.preference import Preference
from tvm_megcc.errors import InputError
from tvm_megcc.kernels.choice import Call, Cost, choose

_DIRECT, _SMALL, _LARGE = Cost(900, 100, 0), Cost(400, 200, 0), Cost(300, 700, 0)


def _call(name: str, *costs: Cost) -> Call:
    return Call(name, costs or (_DIRECT, _SMALL, _LARGE))


@pytest.mark.parametrize(("budget", "chosen"), [(0, 0), (99, 0), (100, 1), (599, 1), (600, 2)])
def test_a_budget_bounds_what_weights_grow_by(budget: int, chosen: int) -> None:
    assert choose([_call("w")], budget) == [chosen]


def test_without_a_bound_the_fewest_instructions_win() -> None:
    assert choose([_call("w"), _call("v", _LARGE, _DIRECT)], None) == [2, 0]


def test_bytes_go_where_they_save_most() -> None:
    """The second call saves more per byte, the first more in all."""
    calls = [_call("a", Cost(9000, 0, 0), Cost(1000, 100, 0)), _call("b", _DIRECT, Cost(0, 105, 0))]
    assert choose(calls, 104) == [1, 0]
    assert choose(calls, 50) == [0, 1]
    assert choose(calls, 105) == [1, 1]


def test_fewer_bytes_and_instructions_are_taken_at_no_cost() -> None:
    assert choose([_call("w", _DIRECT, Cost(800, 90, 0))], 0) == [1]


def test_what_is_not_allowed_is_never_taken() -> None:
    refused = Cost(1, 100, 0, allowed=False)
    assert choose([_call("w", _DIRECT, refused, _SMALL)], None) == [2]
    assert choose([_call("w", _DIRECT, refused)], None) == [0]


def test_calls_of_equal_weights_share_a_kernel_and_pay_once() -> None:
    """As the functions of a dispatched model: large sizes gain, small ones lose a little."""
    large, small = _call("w", _DIRECT, Cost(300, 200, 0)), _call("w", _DIRECT, Cost(1000, 200, 0))
    assert choose([large, small], 100) == [1, 1]
    assert choose([small], 100) == [0]


def test_the_greedy_choice_is_close_to_the_best() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        calls = []
        for k in range(6):
            weights = np.sort(rng.integers(1, 100, 3))
            work = -np.sort(-rng.integers(1, 1000, 3))
            costs = (Cost(int(i), int(w), 0) for i, w in zip(work, weights, strict=True))
            calls.append(_call(str(k), *costs))
        least = sum(c.costs[0].weights for c in calls)
        budget = least // 2

        def spent(numbers, calls=calls):
            return sum(c.costs[n].weights for c, n in zip(calls, numbers, strict=True))

        def work(numbers, calls=calls):
            return sum(c.costs[n].instructions for c, n in zip(calls, numbers, strict=True))

        every = itertools.product(range(3), repeat=6)
        best = min(work(n) for n in every if spent(n) <= least + budget)
        found = choose(calls, budget)
        assert spent(found) <= least + budget
        before = work([0] * 6)
        assert before - work(found) >= 0.8 * (before - best)


def test_preferences_say_what_is_allowed() -> None:
    assert Preference().allowance(1003) == 250
    assert Preference("size").allowance(1003) == 0
    assert Preference("speed").allowance(1003) is None
    with pytest.raises(InputError, match="optimize 'fast' is not known; choose from speed, bal"):
        Preference("fast")
