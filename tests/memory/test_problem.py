"""The validator against wrong plans, and the lower bound against known ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.memory.problems import problems
from tvm_megcc.errors import InputError
from tvm_megcc.memory import Gap, Interval, Problem, Solution, lower_bound, peak_step, validate

TWO = Problem((Interval("a", 0, 2, 100), Interval("b", 1, 3, 50)))


def test_validate_refuses_overlap() -> None:
    with pytest.raises(ValueError, match="a and b|b and a"):
        validate(TWO, Solution((0, 64), 200, "wrong"))


def test_validate_refuses_overlap_with_a_block_far_below() -> None:
    problem = Problem((Interval("a", 0, 9, 640), Interval("b", 1, 3, 64), Interval("c", 4, 5, 64)))
    with pytest.raises(ValueError, match="overlap"):
        validate(problem, Solution((0, 640, 512), 704, "wrong"))


def test_validate_refuses_misaligned() -> None:
    with pytest.raises(ValueError, match="multiple"):
        validate(TWO, Solution((8, 128), 200, "wrong"))


def test_validate_refuses_outside() -> None:
    with pytest.raises(ValueError, match="outside"):
        validate(TWO, Solution((0, 128), 177, "wrong"))


def test_validate_refuses_moved_from_fixed() -> None:
    problem = Problem((Interval("a", 0, 2, 100, 64, 128),))
    validate(problem, Solution((128,), 228, "right"))
    with pytest.raises(ValueError, match="fixed at 128"):
        validate(problem, Solution((0,), 228, "wrong"))


def test_validate_refuses_too_few_offsets() -> None:
    with pytest.raises(ValueError, match="2 intervals, 1 offsets"):
        validate(TWO, Solution((0,), 200, "wrong"))


def test_validate_takes_touching_lifetimes() -> None:
    problem = Problem((Interval("a", 0, 2, 64), Interval("b", 2, 3, 64)))
    validate(problem, Solution((0, 0), 64, "shared"))


def test_validate_takes_a_block_within_a_gap_and_refuses_beside_it() -> None:
    host = Interval("host", 0, 10, 64, 1, None, (Gap(3, 6), Gap(7, 9, (0, 16))))
    for guest, fits in [
        (Interval("in", 3, 6, 64, 1), True),
        (Interval("late", 3, 7, 64, 1), False),
        (Interval("window", 7, 9, 48, 1), False),
    ]:
        problem = Problem((host, guest))
        if fits:
            validate(problem, Solution((0, 0), 64, "gap"))
        else:
            with pytest.raises(ValueError, match="overlap"):
                validate(problem, Solution((0, 0), 64, "gap"))
    validate(Problem((host, Interval("window", 7, 9, 48, 1))), Solution((0, 16), 64, "window"))


def test_lower_bound_counts_alignment_but_not_of_the_last() -> None:
    assert lower_bound(TWO) == 64 + 100
    assert peak_step(TWO) == 1


def test_lower_bound_counts_mixed_alignments_by_their_common_divisor() -> None:
    problem = Problem((Interval("a", 0, 2, 100, 64), Interval("b", 0, 2, 50, 1)))
    assert lower_bound(problem) == 150


def test_lower_bound_sees_gaps_and_fixed_blocks() -> None:
    gap = Problem((Interval("a", 0, 9, 64, 1, None, (Gap(2, 4),)), Interval("b", 2, 4, 64, 1)))
    assert lower_bound(gap) == 64
    assert lower_bound(Problem((Interval("a", 0, 1, 64, 1, 1000),))) == 1064


def test_lower_bound_of_nothing_is_zero() -> None:
    assert lower_bound(Problem(())) == 0
    assert lower_bound(Problem((Interval("a", 3, 3, 64), Interval("b", 0, 9, 0)))) == 0


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(problems)
def test_lower_bound_is_that_of_every_step_on_its_own(problem: Problem) -> None:
    raw = 0
    for step in range(30):
        live = [p for b in problem.intervals if b.is_live for p in b.pieces()]
        raw = max(raw, sum(p.hi - p.lo for p in live if p.first <= step < p.last))
    assert lower_bound(problem) >= raw


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ((Interval("a", 0, 1, -1),), "'a': size -1 is negative"),
        ((Interval("a", 0, 1, 1, 0),), "'a': alignment 0"),
        ((Interval("a", 0, 1, 1, 64, 8),), "'a': fixed offset 8"),
        ((Interval("a", 0, 4, 8, 1, None, (Gap(1, 2, (4, 9)),)),), "'a': window 4:9"),
        ((Interval("a", 0, 9, 8, 1, None, (Gap(1, 4), Gap(3, 5))),), "'a': two of its gaps"),
        ((Interval("a", 0, 2, 8, 1, 0), Interval("b", 1, 3, 8, 1, 4)), "'b' and 'a' are fixed"),
    ],
)
def test_check_refuses_what_no_plan_satisfies(blocks: tuple[Interval, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Problem(blocks).check()
