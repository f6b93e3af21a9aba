"""Arrays whose elements follow from the shapes of the inputs: `SizeArray`.

``Shape`` of a tensor with symbolic dims is such an array, and so is what exporters compute from it.
Its integers and booleans are sizes (`tvm_megcc.dims`), its floats are
quotients of sizes (`Real`), so that a detour through floats comes back exact. That holds where a
float is rounded once: ``n * (800 / n)`` is 799 for many n in f32, and is left to the run.

Example
-------
>>> from tvm_megcc.dims import symbol
>>> half = Real.of(symbol("h")) * Real.of(0.5)
>>> str(half), str(half.floor()), str(half.ceil())
('h/2', 'h//2', '(h + 1)//2')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from tvm_megcc import dims
from tvm_megcc.dims import Dim, Size

#: Largest denominator of a scale: a float with a larger one is taken for a rounded fraction.
MAX_DENOMINATOR = 1 << 12
#: Sizes up to which a float and its fraction are checked to give the same products.
CHECKED = 1 << 16
#: Most terms and operations of a size: TVM writes it as a tree, and visits all of it often.
MOST_WRITTEN = 400

#: Integer types that do not hold every size. (Of int32 exporters make sizes, and they fit.)
_SHORT = frozenset({"int8", "uint8", "int16", "uint16", "uint32", "uint64"})


class NotShapes(Exception):
    """Arithmetic that no size can express."""


@dataclass(frozen=True, slots=True)
class Real:
    """``top / bottom``: two sizes, `bottom` greater than 0.

    It represents the nearest float, exactly where `bottom` is a power of 2. Arithmetic whose
    rounding is not known raises `NotShapes`.
    """

    top: Size
    bottom: Size = 1

    @property
    def is_exact(self) -> bool:
        """Whether a float holds it, whatever the sizes are."""
        return isinstance(self.bottom, int) and not self.bottom & (self.bottom - 1)

    @property
    def _is_number(self) -> bool:
        return isinstance(self.top, int) and isinstance(self.bottom, int)

    @staticmethod
    def of(value: Size | float | Real) -> Real:
        """A number as a quotient; a float as the simplest fraction that rounds to it."""
        if isinstance(value, Real):
            return value
        if isinstance(value, int | Dim):
            return Real(value)
        fraction = _simplest(float(value))
        return Real(fraction.numerator, fraction.denominator)

    def __add__(self, other: Real) -> Real:
        steps = [v.bottom for v in (self, other) if v.is_exact]
        if not steps or (len(steps) == 1 and steps[0] not in (1, 2)):
            raise NotShapes
        top = self.top * other.bottom + other.top * self.bottom
        return _reduced(top, self.bottom * other.bottom)

    def __mul__(self, other: Real) -> Real:
        if not other.is_exact:
            self, other = other, self
        if not other.is_exact or not (self.is_exact or self._is_number or _doubles_at_most(other)):
            raise NotShapes
        return self.times(other)

    def times(self, other: Real) -> Real:
        """The product of the numbers, whatever floats make of it."""
        return _reduced(self.top * other.top, self.bottom * other.bottom)

    def __neg__(self) -> Real:
        return Real(-self.top, self.bottom)

    def __sub__(self, other: Real) -> Real:
        return self + -other

    def __truediv__(self, other: Real) -> Real:
        low, high = dims.bounds(other.top)
        if (low < 0 < high) or other.top == 0:
            raise NotShapes
        if high <= 0:
            return -self / -other
        if not self.is_exact or not other.is_exact:
            inverse = Real(other.bottom, other.top)
            if not inverse.is_exact or not _doubles_at_most(inverse):
                raise NotShapes
        return _reduced(self.top * other.bottom, self.bottom * other.top)

    def less(self, other: Real) -> Size:
        """1 where it is less, 0 where not."""
        return self._compared("lt", other)

    def equal(self, other: Real) -> Size:
        """1 where it is the same, 0 where not."""
        return self._compared("eq", other)

    def _compared(self, kind: str, other: Real) -> Size:
        if not (self.is_exact or other.is_exact or self.bottom == other.bottom):
            raise NotShapes
        return dims.compare(kind, self.top * other.bottom, other.top * self.bottom)

    def floor(self) -> Size:
        return dims.floordiv(self.top, self.bottom)

    def ceil(self) -> Size:
        return dims.ceildiv(self.top, self.bottom)

    def round(self) -> Size:
        """To the nearest; halves, which ONNX rounds to even, must not occur."""
        if self.bottom == 1:
            return self.top
        if isinstance(self.bottom, int) and self.bottom % 2:
            return dims.floordiv(self.top * 2 + self.bottom, self.bottom * 2)
        raise NotShapes

    def truncated(self) -> Size:
        return truncdiv(self.top, self.bottom)

    def number(self) -> float | None:
        """Its value where that does not depend on the shapes."""
        static = isinstance(self.top, int) and isinstance(self.bottom, int)
        return self.top / self.bottom if static else None  # type: ignore[operator]

    def __str__(self) -> str:
        top = f"({self.top})" if " " in str(self.top) else str(self.top)
        return str(self.top) if self.bottom == 1 else f"{top}/{self.bottom}"


Item = Size | Real


class SizeArray:
    """An array of sizes (or `Real`, where `dtype` is a float's), at least one of them symbolic.

    Attributes
    ----------
    items : np.ndarray of objects
    dtype : str
        The elements' type in ONNX: ``int64``, ``int32``, ``bool``, ``float32``, ...
    """

    __slots__ = ("dtype", "items")

    def __init__(self, items: npt.NDArray[Any], dtype: str) -> None:
        self.items = items
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.items.shape

    def flat(self) -> list[Item]:
        """The elements in order."""
        return list(self.items.reshape(-1))

    def __repr__(self) -> str:
        return f"SizeArray({[str(i) for i in self.flat()]}, {self.dtype})"


def size_array(
    items: Iterable[Item], shape: tuple[int, ...], dtype: str
) -> SizeArray | npt.NDArray[Any]:
    """An array of these elements: a plain one where none of them depends on the shapes.

    Raises
    ------
    NotShapes
        For some shapes a size overflows the type, or its expression is too long: the run computes
        it.
    """
    given = list(items)
    if any(_written(item) > MOST_WRITTEN for item in given):
        raise NotShapes
    if dtype in _SHORT:
        limits = np.iinfo(dtype)
        ends = [end for item in given if isinstance(item, Dim) for end in dims.bounds(item)]
        if any(not limits.min <= end <= limits.max for end in ends):
            raise NotShapes
    numbers = [i.number() if isinstance(i, Real) else i for i in given]
    if all(isinstance(n, int | float) for n in numbers):
        return np.array(numbers, dtype=dtype).reshape(shape)
    array = np.empty(len(given), dtype=object)
    array[:] = given
    return SizeArray(array.reshape(shape), dtype)


def _written(item: Item) -> int:
    parts = (item.top, item.bottom) if isinstance(item, Real) else (item,)
    return sum(map(dims.written, parts))


def truncdiv(a: Size, b: Size) -> Size:
    """``a / b`` rounded towards 0, as ONNX divides integers."""
    low, high = dims.bounds(b)
    if (low < 0 < high) or b == 0:
        raise NotShapes
    if high <= 0:
        return truncdiv(-a, -b)
    low, high = dims.bounds(a)
    if low >= 0:
        return dims.floordiv(a, b)
    if high <= 0:
        return -dims.floordiv(-a, b)
    # No choice between two quotients: its terms would multiply from division to division.
    down = dims.floordiv(dims.maximum(a, 0), b)
    return down if -low < dims.bounds(b)[0] else down - dims.floordiv(dims.maximum(-a, 0), b)


def divides(a: Size, b: Size) -> Size | None:
    """``a / b`` where that is a size without remainder, else None."""
    if b == 0:
        return None
    quotient = dims.floordiv(a, b)
    return quotient if quotient * b == a else None


def _reduced(top: Size, bottom: Size) -> Real:
    whole = divides(top, bottom)
    if whole is not None:
        return Real(whole)
    inverse = divides(bottom, top)
    if inverse is not None and dims.bounds(inverse)[0] > 0:
        return Real(1, inverse)
    common = gcd(_content(top), _content(bottom))
    return Real(dims.floordiv(top, common), dims.floordiv(bottom, common))


def _doubles_at_most(factor: Real) -> bool:
    """Whether it is at most 2 over a power of 2: a product rounds as its other factor did."""
    return factor.is_exact and isinstance(factor.top, int) and abs(factor.top) <= 2


def _content(size: Size) -> int:
    """The greatest number that divides all of it."""
    return abs(size) if isinstance(size, int) else gcd(*(c for c, _ in size.terms))


def scale_of(size: Size, scale: float) -> Real | None:
    """The fraction for which ``floor(size * scale)`` is what f32 computes, for all sizes in bounds.

    None where there is none: 90 times 1.3 is 116 in f32, whose 1.3 is smaller, and 10 times 1.3
    is 13.
    """
    low, high = (int(max(0, min(end, CHECKED))) for end in dims.bounds(size))
    if not np.isfinite(scale):
        return None
    fraction = Fraction(scale)
    if fraction.denominator > MAX_DENOMINATOR:
        fraction = fraction.limit_denominator(MAX_DENOMINATOR)
        sizes = np.arange(low, high + 1, dtype=np.int64)
        products = np.floor(sizes.astype(np.float32) * np.float32(scale))
        if np.any(products != sizes * fraction.numerator // fraction.denominator):
            return None
    return Real(fraction.numerator, fraction.denominator)


@cache
def _simplest(value: float) -> Fraction:
    """The fraction that a scale such as 0.1 stands for.

    Raises
    ------
    NotShapes
        There is none for which products with sizes round to the same integers.
    """
    if not np.isfinite(value):
        raise NotShapes
    exact = Fraction(value)
    if exact.denominator <= MAX_DENOMINATOR:
        return exact
    fraction = exact.limit_denominator(MAX_DENOMINATOR)
    single = np.float32(value)
    if np.float32(fraction) != single:
        raise NotShapes
    # Models compute with f32: floors and ceilings, to halves, have to be those of f32.
    sizes = np.arange(CHECKED, dtype=np.int64)
    products = sizes.astype(np.float32) * single * np.float32(2)
    down = 2 * sizes * fraction.numerator // fraction.denominator
    up = -(-2 * sizes * fraction.numerator // fraction.denominator)
    if np.any(np.floor(products) != down) or np.any(np.ceil(products) != up):
        raise NotShapes
    return fraction
