"""Blocks as rectangles of time and bytes: what gaps leave of them."""

from __future__ import annotations

import pytest

from tvm_megcc.memory import Gap, Interval
from tvm_megcc.memory.block import align

#: Gaps of a block of 100 bytes that is live from 2 to 8, and its pieces.
PIECES: list[tuple[list[Gap], list[tuple[int, int, int, int]]]] = [
    ([], [(2, 8, 0, 100)]),
    ([Gap(4, 5)], [(2, 4, 0, 100), (5, 8, 0, 100)]),
    ([Gap(4, 6, (10, 30))], [(2, 4, 0, 100), (4, 6, 10, 30), (6, 8, 0, 100)]),
    ([Gap(4, 6, (10, 10))], [(2, 4, 0, 100), (6, 8, 0, 100)]),
    ([Gap(2, 3)], [(3, 8, 0, 100)]),
    ([Gap(6, 8)], [(2, 6, 0, 100)]),
    ([Gap(2, 8)], []),
    ([Gap(2, 8, (0, 1))], [(2, 8, 0, 1)]),
    # In any order, one after the other.
    ([Gap(5, 6), Gap(3, 5, (0, 9))], [(2, 3, 0, 100), (3, 5, 0, 9), (6, 8, 0, 100)]),
    # Beyond the block's life, and empty: no gaps at all, or a part of one.
    ([Gap(0, 2)], [(2, 8, 0, 100)]),
    ([Gap(0, 1, (0, 9))], [(2, 8, 0, 100)]),
    ([Gap(8, 12, (0, 9))], [(2, 8, 0, 100)]),
    ([Gap(5, 5, (0, 9))], [(2, 8, 0, 100)]),
    ([Gap(6, 4)], [(2, 8, 0, 100)]),
    ([Gap(0, 4, (0, 9))], [(2, 4, 0, 9), (4, 8, 0, 100)]),
    ([Gap(7, 99)], [(2, 7, 0, 100)]),
]


@pytest.mark.parametrize(("gaps", "pieces"), PIECES)
def test_pieces(gaps: list[Gap], pieces: list[tuple[int, int, int, int]]) -> None:
    block = Interval("t", 2, 8, 100, gaps=tuple(gaps))
    assert [(p.first, p.last, p.lo, p.hi) for p in block.pieces()] == pieces
    assert block.is_live == bool(pieces)


@pytest.mark.parametrize(("first", "last", "size"), [(3, 3, 9), (4, 3, 9), (0, 4, 0)])
def test_blocks_that_are_never_live(first: int, last: int, size: int) -> None:
    assert not Interval("t", first, last, size).is_live


@pytest.mark.parametrize(
    ("value", "alignment", "wanted"),
    [(0, 64, 0), (1, 64, 64), (63, 64, 64), (64, 64, 64), (65, 64, 128), (7, 1, 7), (7, 3, 9)],
)
def test_align(value: int, alignment: int, wanted: int) -> None:
    assert align(value, alignment) == wanted
