"""Arrays whose elements are known as soon as the shapes of the inputs are.

What ``Shape`` of a tensor with symbolic dims gives is such an array, and what exporters compute
from it: `SizeArray`. Its integers and booleans are sizes (`tvm_megcc.dims`), its floats are
quotients of sizes (`Real`), so that a detour through floats comes back exact.

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

#: Quotients with a larger denominator than this are no scale that anybody meant.
MAX_DENOMINATOR = 1 << 12
#: Sizes for which a float is checked to stand for the fraction that it is taken for.
CHECKED = 1 << 16


class NotShapes(Exception):
    """Arithmetic that no size can express."""


@dataclass(frozen=True, slots=True)
class Real:
    """``top / bottom``: two sizes, `bottom` greater than 0."""

    top: Size
    bottom: Size = 1

    @staticmethod
    def of(value: Size | float | Real) -> Real:
        """A number as a quotient; a float as the simplest one that it is the rounding of."""
        if isinstance(value, Real):
            return value
        if isinstance(value, int | Dim):
            return Real(value)
        fraction = _simplest(float(value))
        return Real(fraction.numerator, fraction.denominator)

    def __add__(self, other: Real) -> Real:
        top = self.top * other.bottom + other.top * self.bottom
        return _reduced(top, self.bottom * other.bottom)

    def __mul__(self, other: Real) -> Real:
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
        return _reduced(self.top * other.bottom, self.bottom * other.top)

    def less(self, other: Real) -> Size:
        """1 where it is less, 0 where not."""
        return dims.compare("lt", self.top * other.bottom, other.top * self.bottom)

    def equal(self, other: Real) -> Size:
        """1 where it is the same, 0 where not."""
        return dims.compare("eq", self.top * other.bottom, other.top * self.bottom)

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
        What ONNX says that the elements are: ``int64``, ``int32``, ``bool``, ``float32``, ...
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
        For sizes that may be others in their type, which wraps.
    """
    given = list(items)
    numbers = [i.number() if isinstance(i, Real) else i for i in given]
    if all(isinstance(n, int | float) for n in numbers):
        return np.array(numbers, dtype=dtype).reshape(shape)
    if not all(_is_held(i, dtype) for i in given):
        raise NotShapes
    array = np.empty(len(given), dtype=object)
    array[:] = given
    return SizeArray(array.reshape(shape), dtype)


def _is_held(item: Item, dtype: str) -> bool:
    """Whether a type has an element's number for all shapes; 32 bits are taken to have any size."""
    if isinstance(item, Real) or "int" not in dtype:
        return True
    (low, high), ends = dims.bounds(item), np.iinfo(dtype)
    if ends.bits > 16:
        return low >= 0 or ends.min < 0
    return bool(ends.min <= low and high <= ends.max)


def truncdiv(a: Size, b: Size) -> Size:
    """``a / b`` rounded towards 0, as ONNX divides integers."""
    low, high = dims.bounds(b)
    if (low < 0 < high) or b == 0:
        raise NotShapes
    if high <= 0:
        return truncdiv(-a, -b)
    low, high = dims.bounds(a)
    down = dims.floordiv(a, b)
    if low >= 0:
        return down
    up = -dims.floordiv(-a, b)
    if high <= 0 or up == down:
        return up
    return dims.select(dims.compare("lt", a, 0), up, down)


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


def _content(size: Size) -> int:
    """The greatest number that divides all of it."""
    return abs(size) if isinstance(size, int) else gcd(*(c for c, _ in size.terms))


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
    # Models compute with f32: its floors and ceilings are what has to come out.
    sizes = np.arange(CHECKED, dtype=np.int64)
    products = sizes.astype(np.float32) * single
    down = sizes * fraction.numerator // fraction.denominator
    up = -(-sizes * fraction.numerator // fraction.denominator)
    if np.any(np.floor(products) != down) or np.any(np.ceil(products) != up):
        raise NotShapes
    return fraction
