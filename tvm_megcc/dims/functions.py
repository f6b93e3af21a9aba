"""Functions of sizes: extremes, choices, products, the dim that two dims broadcast to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from .size import Dim, Size, Undecided, bounds, compare, floordiv, length, operation, single


def is_static(sizes: object) -> bool:
    """Whether a size, or all of several, are plain integers."""
    return isinstance(sizes, int) or (
        not isinstance(sizes, Dim) and all(isinstance(s, int) for s in sizes)  # type: ignore[attr-defined]
    )


def fixed(size: Size) -> int:
    """A size as an int; raises `Undecided` if it depends on a symbol."""
    if isinstance(size, Dim):
        raise Undecided(f"what {size} is depends on the shapes")
    return size


def fixed_dims(sizes: Iterable[Size]) -> tuple[int, ...]:
    """Sizes as ints; raises `Undecided` if one depends on a symbol."""
    return tuple(map(fixed, sizes))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes, 1 of none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def ceildiv(a: Size, b: Size) -> Size:
    """``a / b``, rounded up."""
    return floordiv(a + b - 1, b)


def minimum(*sizes: Size) -> Size:
    return _extreme("min", sizes)


def maximum(*sizes: Size) -> Size:
    return _extreme("max", sizes)


def _extreme(kind: str, sizes: tuple[Size, ...]) -> Size:
    best = sizes[0]
    for size in sizes[1:]:
        best = _extreme_of_two(kind, best, size)
    return best


@lru_cache(1 << 16)
def _extreme_of_two(kind: str, a: Size, b: Size) -> Size:
    less = compare("lt", b, a)
    if isinstance(less, int):
        return b if (less == 1) == (kind == "min") and b != a else a
    if compare("lt", a, b) == 0:  # b <= a
        return b if kind == "min" else a
    return operation(kind, a, b)


def select(condition: Size, then: Size, other: Size) -> Size:
    """``then`` where `condition` is 1, ``other`` where it is 0."""
    return condition * then + (1 - condition) * other


def may_be_one(size: Size) -> bool:
    """Whether there are shapes for which a size is 1."""
    low, high = bounds(size)
    return low <= 1 <= high


def stretch(a: Size, b: Size) -> Size:
    """The dim that `a` and `b` broadcast to: `b` where `a` is 1, else `a`."""
    if a == b or b == 1 or not may_be_one(a):
        return a
    return b if a == 1 or stretched_from(b)[:1] == (a,) else operation("stretch", a, b)


def stretched_from(size: Size) -> tuple[Size, ...]:
    """The two dims from which `stretch` made a size; an empty tuple for any other size."""
    made = single(size)
    return (made.a, made.b) if made is not None and made.kind == "stretch" else ()


def effort(size: Size) -> tuple[int, str]:
    """Sort key by simplicity: constants first, then expressions by length."""
    return (length(size), str(size)) if isinstance(size, Dim) else (0, "")


@lru_cache(1 << 16)
def magnitude(size: Size) -> int:
    """The largest number in a size's expression, also inside its operations."""
    if isinstance(size, int):
        return abs(size)
    return max([abs(number) for number, _ in size.terms] + [*map(magnitude, size.operands)])
