"""Runs of axes that a reshape splits or merges.

Enters: the shapes before and after. Leaves: groups of axes of both that hold the same elements.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence

from tvm_megcc.dims import Size, Undecided, floormod, typical


def regrouped(source: Sequence[Size], target: Sequence[Size]) -> list[tuple[list[int], list[int]]]:
    """Finest runs of axes of `source` and `target` that hold the same elements.

    Example: ``regrouped([2, 6, 5], [2, 3, 2, 5])`` is ``[([0], [0]), ([1], [1, 2]), ([2], [3])]``.
    """
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) and j < len(target):
        left, right = [i], [j]
        size, wanted = source[i], target[j]
        i, j = i + 1, j + 1
        while size != wanted:
            if _is_part(size, source[i:], wanted, target[j:]):
                left.append(i)
                size, i = size * source[i], i + 1
            else:
                right.append(j)
                wanted, j = wanted * target[j], j + 1
        groups.append((left, right))
    if i < len(source) or j < len(target):  # what is left has extent one
        left, right = groups.pop() if groups else ([], [])
        groups.append(([*left, *range(i, len(source))], [*right, *range(j, len(target))]))
    return groups


def _is_part(size: Size, rest: Sequence[Size], whole: Size, others: Sequence[Size]) -> bool:
    """Whether `size` is less than `whole`, where either divides the other.

    `rest` and `others` are the dims that follow each: where some of them make one the other, that
    holds for sizes of 0, too.

    Raises
    ------
    Undecided
        When neither bounds nor a common factor decide.
    """
    try:
        return size < whole
    except Undecided:
        if _becomes(size, rest, whole) or _is_multiple(whole, size):
            return True
        if _becomes(whole, others, size):
            return False
        if _is_multiple(size, whole):
            return False
        raise


def _becomes(size: Size, rest: Sequence[Size], whole: Size) -> bool:
    """Whether `size` times the first dims of `rest` is `whole`, at all sizes."""
    products = itertools.accumulate(rest, operator.mul, initial=size)
    return any(made == whole for made in products)


def _is_multiple(whole: Size, size: Size) -> bool:
    """Whether `whole` is a multiple of `size`; both may be 0."""
    times = typical(whole) // max(1, typical(size))
    return floormod(whole, size) == 0 or size * times == whole
