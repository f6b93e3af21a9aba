"""Axes as ONNX numbers them: from the front, or negative from behind."""

from __future__ import annotations

from collections.abc import Iterable


class NoAxis(IndexError):
    """A tensor has no axis of that number, or one is named twice."""


def normal_axis(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises
    ------
    NoAxis
        A tensor of that rank has none of that number.
    """
    if not -rank <= axis < rank:
        raise NoAxis(f"takes axis {axis} of a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def normal_axes(axes: Iterable[int], rank: int) -> list[int]:
    """Different axes, counted from the front.

    Raises
    ------
    NoAxis
        A tensor of that rank has none of some number, or two of them are one.
    """
    given = list(axes)
    found = [normal_axis(axis, rank) for axis in given]
    if len(set(found)) != len(found):
        raise NoAxis(f"takes one axis twice, of {given} of a tensor of rank {rank}")
    return found
