"""Symbolic sizes: integers that are known when the shapes of the inputs are.

A `Dim` is a polynomial over *atoms*: symbols (dims of the inputs, with bounds) and operations that
are no polynomials (floor division, minimum, ...). It is kept in one normal form, so that equal
sizes compare equal, and it computes like an ``int``: code written for static shapes serves symbolic
ones too. A result without symbols is a plain ``int``. A comparison that the bounds do not decide
raises `Undecided`: nobody goes on with a guess.

Example
-------
>>> n = symbol("n", 1, 64)
>>> (n * 8 + 4) // 4 == n * 2 + 1, n >= 1, (n + 3).at({"n": 2})
(True, True, 5)
>>> str(n * n // 3)
'n*n//3'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

INFINITY = math.inf


class Undecided(Exception):
    """A question about a size whose answer depends on the shapes at run time."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dim of an input, or of a value whose shape depends on data: ``low <= value <= high``."""

    name: str
    low: int = 0
    high: int | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, INFINITY if self.high is None else self.high

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Operation:
    """``floordiv``, ``floormod`` (both round down), ``min``, ``max``, ``eq``, ``lt`` (0 or 1).

    ``stretch`` is what broadcasting makes of a dim ``a`` beside ``b``: ``b`` where ``a`` is 1, else
    ``a``.
    """

    kind: str
    a: Size
    b: Size

    @property
    def bounds(self) -> tuple[float, float]:
        a, b = bounds(self.a), bounds(self.b)
        if self.kind in ("eq", "lt"):
            return 0, 1
        if self.kind == "stretch":
            return min(a[0], b[0]), max(a[1], b[1])
        if self.kind in ("min", "max"):
            choose = min if self.kind == "min" else max
            return choose(a[0], b[0]), choose(a[1], b[1])
        if self.kind == "floormod":
            low, high = (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)
            return (low, high) if b[0] > 0 else (-INFINITY, INFINITY)
        if b[0] <= 0:
            return -INFINITY, INFINITY
        ends = [_quotient(x, y) for x in a for y in b]
        return min(ends), max(ends)

    def __str__(self) -> str:
        if self.kind in _INFIX:
            return f"{_bracketed(self.a)}{_INFIX[self.kind]}{_bracketed(self.b, right=True)}"
        return f"{self.kind}({self.a}, {self.b})"


Atom = Symbol | Operation
_INFIX = {"floordiv": "//", "floormod": "%"}
_Terms = dict[tuple[Atom, ...], int]


class Dim:
    """A symbolic integer; see the module's text. Make one with `symbol` and arithmetic.

    Attributes
    ----------
    terms : tuple of (int, tuple of Atom)
        The polynomial: coefficients (never 0) and their atoms, in a fixed order.
    """

    __slots__ = ("__dict__", "_hash", "terms")

    terms: tuple[tuple[int, tuple[Atom, ...]], ...]

    def __init__(self, terms: tuple[tuple[int, tuple[Atom, ...]], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    # Two sizes are equal when they are equal for every shape.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Size) -> Size:
        if not _is_size(other):
            return NotImplemented
        total = dict(_terms(self))
        for atoms, coefficient in _terms(other).items():
            total[atoms] = total.get(atoms, 0) + coefficient
        return _make(total)

    def __mul__(self, other: Size) -> Size:
        if not _is_size(other):
            return NotImplemented
        total: _Terms = {}
        for one, a in _terms(self).items():
            for two, b in _terms(other).items():
                atoms = tuple(sorted(one + two, key=_order))
                total[atoms] = total.get(atoms, 0) + a * b
        return _make(total)

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other) if _is_size(other) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return floormod(self, other) if _is_size(other) else NotImplemented

    def __rfloordiv__(self, other: Size) -> Size:
        return floordiv(other, self) if _is_size(other) else NotImplemented

    def __rmod__(self, other: Size) -> Size:
        return floormod(other, self) if _is_size(other) else NotImplemented

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + other * -1 if _is_size(other) else NotImplemented

    def __rsub__(self, other: Size) -> Size:
        return self * -1 + other if _is_size(other) else NotImplemented

    __radd__ = __add__
    __rmul__ = __mul__

    def __lt__(self, other: Size) -> bool:
        return _decided(compare("lt", self, other), self, "<", other)

    def __le__(self, other: Size) -> bool:
        return not _decided(compare("lt", other, self), self, "<=", other)

    def __gt__(self, other: Size) -> bool:
        return _decided(compare("lt", other, self), self, ">", other)

    def __ge__(self, other: Size) -> bool:
        return not _decided(compare("lt", self, other), self, ">=", other)

    def __bool__(self) -> bool:
        return not _decided(compare("eq", self, 0), self, "==", 0)

    def at(self, values: Mapping[str, int]) -> int:
        """The number for given symbols.

        Raises
        ------
        KeyError
            A symbol has no value.
        ZeroDivisionError
            For these values there is no such number.
        """
        return sum(
            coefficient * math.prod(_atom_at(atom, values) for atom in atoms)
            for coefficient, atoms in self.terms
        )

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value that the symbols allow; infinite where there is no end."""
        low = high = 0.0
        for coefficient, atoms in self.terms:
            one: tuple[float, float] = (coefficient, coefficient)
            for atom in atoms:
                ends = [_times(x, y) for x in one for y in atom.bounds]
                one = min(ends), max(ends)
            low, high = low + one[0], high + one[1]
        return low, high

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """Every symbol that stands in it."""
        return frozenset(_symbols(self))

    def __str__(self) -> str:
        text = ""
        for coefficient, atoms in self.terms:
            factors = [str(a) for a in atoms]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            # An operation keeps to itself: 4*(n//2), but n*n//3 for (n*n)//3 alone.
            if len(factors) > 1 or (coefficient < 0 and not text):
                factors = [f"({f})" if "/" in f or "%" in f else f for f in factors]
            sign = (
                ("-" if coefficient < 0 else "")
                if not text
                else " - "
                if coefficient < 0
                else " + "
            )
            text += sign + "*".join(factors)
        return text

    __repr__ = __str__


Size = int | Dim


def symbol(name: str, low: int = 0, high: int | None = None) -> Dim:
    """The size that is one symbol."""
    return Dim(((1, (Symbol(name, low, high),)),))


def of(found: Symbol) -> Dim:
    """A symbol as a size."""
    return Dim(((1, (found,)),))


def is_static(sizes: object) -> bool:
    """Whether a size, or all of several, are plain integers."""
    return isinstance(sizes, int) or (
        not isinstance(sizes, Dim) and all(isinstance(s, int) for s in sizes)  # type: ignore[attr-defined]
    )


def fixed(size: Size) -> int:
    """A size of which the caller knows that no symbol stands in it."""
    if isinstance(size, Dim):
        raise Undecided(f"what {size} is depends on the shapes")
    return size


def fixed_dims(sizes: Iterable[Size]) -> tuple[int, ...]:
    """Sizes of which the caller knows that no symbols stand in them."""
    return tuple(map(fixed, sizes))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes, 1 of none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def at(size: Size, values: Mapping[str, int]) -> int:
    """The number that `size` is for given symbols."""
    return size if isinstance(size, int) else size.at(values)


def bounds(size: Size) -> tuple[float, float]:
    """Least and greatest value of a size."""
    return (size, size) if isinstance(size, int) else size.bounds


def symbols(size: Size) -> frozenset[Symbol]:
    """The symbols that a size depends on."""
    return frozenset() if isinstance(size, int) else size.symbols


def as_symbol(size: Size) -> Symbol | None:
    """The symbol that a size is, when it is nothing more."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        coefficient, atoms = size.terms[0]
        if coefficient == 1 and len(atoms) == 1 and isinstance(atoms[0], Symbol):
            return atoms[0]
    return None


def floordiv(a: Size, b: Size) -> Size:
    """``a // b``, rounded down.

    A factor common to `a` and `b` is cancelled: where it is 0 there is no quotient anyway.
    """
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1 or a == 0:
        return a
    whole, rest = _divide(a, b)
    if rest == 0:
        return whole
    low, high = bounds(rest)
    if low >= 0 and high < bounds(b)[0]:
        return whole
    inner = _single(rest)
    if isinstance(b, int) and b > 0 and inner is not None and inner.kind == "floordiv":
        if isinstance(inner.b, int) and inner.b > 0:
            return whole + floordiv(inner.a, inner.b * b)
    return whole + _operation("floordiv", rest, b)


def floormod(a: Size, b: Size) -> Size:
    """``a % b`` with the sign of `b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if b == 1:
        return 0
    _, rest = _divide(a, b)
    if isinstance(rest, int) and isinstance(b, int):
        return rest % b
    low, high = bounds(rest)
    if low >= 0 and high < bounds(b)[0]:
        return rest
    return _operation("floormod", rest, b)


def ceildiv(a: Size, b: Size) -> Size:
    """``a / b``, rounded up."""
    return floordiv(a + b - 1, b)


def minimum(*sizes: Size) -> Size:
    return _extreme("min", sizes)


def maximum(*sizes: Size) -> Size:
    return _extreme("max", sizes)


def compare(kind: str, a: Size, b: Size) -> Size:
    """``a == b`` (``eq``) or ``a < b`` (``lt``) as 0 or 1, a `Dim` where that is not known."""
    difference = a - b
    low, high = bounds(difference)
    if kind == "lt":
        if high < 0:
            return 1
        if low >= 0:
            return 0
    else:
        if difference == 0:
            return 1
        if low > 0 or high < 0:
            return 0
    return _operation(kind, a, b)


def select(condition: Size, then: Size, other: Size) -> Size:
    """``then`` where `condition` is 1, ``other`` where it is 0."""
    return condition * then + (1 - condition) * other


def may_be_one(size: Size) -> bool:
    """Whether there are shapes for which a size is 1."""
    low, high = bounds(size)
    return low <= 1 <= high


def stretch(a: Size, b: Size) -> Size:
    """What broadcasting makes of a dim `a` beside a dim `b`: `b` where `a` is 1, else `a`."""
    if a == b or b == 1 or not may_be_one(a):
        return a
    return b if a == 1 or stretched_from(b)[:1] == (a,) else _operation("stretch", a, b)


def stretched_from(size: Size) -> tuple[Size, ...]:
    """The two dims of which `stretch` has made a size; nothing for any other."""
    made = _single(size)
    return (made.a, made.b) if made is not None and made.kind == "stretch" else ()


def effort(size: Size) -> tuple[int, str]:
    """A constant is simpler than an expression, a short one simpler than a long one."""
    text = str(size) if isinstance(size, Dim) else ""
    return len(text), text


def to_json(size: Size) -> object:
    """A size as JSON: a number, or ``[[coefficient, [name or [kind, a, b], ...]], ...]``."""
    if isinstance(size, int):
        return size

    def atom(a: Atom) -> object:
        return a.name if isinstance(a, Symbol) else [a.kind, to_json(a.a), to_json(a.b)]

    return [[coefficient, [atom(a) for a in atoms]] for coefficient, atoms in size.terms]


def json_at(size: object, values: Mapping[str, int]) -> int:
    """The number that a size of `to_json` is for given symbols."""
    if isinstance(size, int):
        return size

    def atom(a: Any) -> int:
        if isinstance(a, str):
            return values[a]
        return _AT[a[0]](json_at(a[1], values), json_at(a[2], values))

    assert isinstance(size, list)
    return sum(coefficient * math.prod(map(atom, atoms)) for coefficient, atoms in size)


#: Values that stand for a dim without bounds where a decision needs numbers, the usual one first.
#: Some are multiples of 32, as many networks need them.
TYPICAL = (64, 1, 7, 320, 32, 300)


def samples(found: Iterable[Symbol]) -> list[dict[str, int]]:
    """Some values of all symbols, within their bounds: the usual case first, then other ones."""
    names = list(found)
    rows = [{s.name: _within(s, value) for s in names} for value in TYPICAL]
    # Dims of different size: what is large for one value of a dim need not be for the other's.
    for turn, s in enumerate(names[:4] if len(names) > 1 else ()):
        other = {t.name: _within(t, TYPICAL[(turn + k) % 2]) for k, t in enumerate(names)}
        rows.append({**other, s.name: _within(s, TYPICAL[3])})
    return [row for k, row in enumerate(rows) if row not in rows[:k]]


def typical(size: Size) -> int:
    """What a size usually is."""
    return at(size, samples(symbols(size))[0])


def _within(found: Symbol, value: int) -> int:
    low, high = found.bounds
    return int(min(max(value, low), high))


# ---- inside ----------------------------------------------------------------------------------


def _is_size(value: object) -> bool:
    return isinstance(value, int | Dim)


def _terms(size: Size) -> _Terms:
    if isinstance(size, Dim):
        return {atoms: coefficient for coefficient, atoms in size.terms}
    return {(): int(size)} if size else {}


def _make(terms: _Terms) -> Size:
    kept = {atoms: c for atoms, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    # Powers first, the constant last, as one writes them.
    rows = sorted(kept, key=lambda atoms: (-len(atoms), tuple(map(_order, atoms))))
    return Dim(tuple((kept[atoms], atoms) for atoms in rows))


def _order(atom: Atom) -> str:
    return str(atom)


def _operation(kind: str, a: Size, b: Size) -> Dim:
    return Dim(((1, (Operation(kind, a, b),)),))


def _single(size: Size) -> Operation | None:
    """The operation that a size is, when it is nothing more."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        coefficient, atoms = size.terms[0]
        if coefficient == 1 and len(atoms) == 1 and isinstance(atoms[0], Operation):
            return atoms[0]
    return None


def _divide(a: Size, b: Size) -> tuple[Size, Size]:
    """(q, r) with ``a == q * b + r``: q has every term of `a` that a one-term `b` divides."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return (1, 0) if a == b else (0, a)
    ((factors, by),) = divisor.items()
    whole: _Terms = {}
    rest: _Terms = {}
    for atoms, coefficient in _terms(a).items():
        left = _without(atoms, factors)
        if left is None:
            rest[atoms] = coefficient
            continue
        # 7n // 2 stays whole: a part of a term would hide that 4n // 2 + 3n // 2 is the same.
        if coefficient % by == 0:
            whole[left] = coefficient // by
        elif not atoms and not factors:
            whole[left], rest[atoms] = coefficient // by, coefficient % by
        else:
            rest[atoms] = coefficient
    return _make(whole), _make(rest)


def _without(atoms: tuple[Atom, ...], factors: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    left = list(atoms)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def _extreme(kind: str, sizes: tuple[Size, ...]) -> Size:
    best = sizes[0]
    for size in sizes[1:]:
        less = compare("lt", size, best)
        if isinstance(less, int):
            best = size if (less == 1) == (kind == "min") and size != best else best
        elif compare("lt", best, size) == 0 and kind == "min":  # size <= best
            best = size
        elif compare("lt", best, size) == 0:
            pass
        else:
            best = _operation(kind, best, size)
    return best


def _decided(answer: Size, a: object, sign: str, b: object) -> bool:
    if isinstance(answer, Dim):
        raise Undecided(f"whether {a} {sign} {b} depends on the shapes")
    return answer == 1


_AT: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "stretch": lambda a, b: b if a == 1 else a,
}


def _atom_at(atom: Atom, values: Mapping[str, int]) -> int:
    if isinstance(atom, Symbol):
        return values[atom.name]
    return _AT[atom.kind](at(atom.a, values), at(atom.b, values))


def _symbols(size: Size) -> Iterator[Symbol]:
    if isinstance(size, Dim):
        for _, atoms in size.terms:
            for atom in atoms:
                if isinstance(atom, Symbol):
                    yield atom
                else:
                    yield from _symbols(atom.a)
                    yield from _symbols(atom.b)


def _times(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _quotient(a: float, b: float) -> float:
    if math.isinf(b):
        return 0 if a >= 0 else -1
    return a if math.isinf(a) else a // b


def _bracketed(size: Size, right: bool = False) -> str:
    text = str(size)
    simple = isinstance(size, int) or (len(size.terms) == 1 and size.terms[0][0] > 0)
    if simple and right and not isinstance(size, int):
        simple = as_symbol(size) is not None
    return text if simple and not (right and "*" in text) else f"({text})"
