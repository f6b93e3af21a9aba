"""`Dim`, the normal form of a symbolic size, and the operations that it is made with.

A size is a graph, not a tree: ``d = max(d - d//2, 1)`` ten times names each step twice. Equal sizes
are one object, every fact of a size is computed once from those of its operands, and arithmetic
remembers its results. So nothing here takes longer than the graph is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from weakref import WeakValueDictionary

from .terms import Terms, added, divided, in_order, multiplied

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


@dataclass(frozen=True)  # no slots: the text is computed once
class Operation:
    """``floordiv``, ``floormod`` (both round down), ``min``, ``max``, ``eq``, ``lt`` (0 or 1).

    ``stretch`` is the dim that ``a`` and ``b`` broadcast to: ``b`` where ``a`` is 1, else ``a``.
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
        return self._text

    @cached_property
    def _text(self) -> str:
        if self.kind in _INFIX:
            return f"{_bracketed(self.a)}{_INFIX[self.kind]}{_bracketed(self.b, right=True)}"
        return f"{self.kind}({self.a}, {self.b})"


Atom = Symbol | Operation
_INFIX = {"floordiv": "//", "floormod": "%"}
#: Most operations that are bounded one by one: each doubles the number of sizes to look at.
_MOST_RELATIONS = 3
#: Characters of a size's text; a longer one is cut, and ends with a digest of the whole.
LONGEST_TEXT = 1000
#: Results that each operation on sizes remembers.
_REMEMBERED = 1 << 16


class Dim:
    """A symbolic integer; see the module's text. Make one with `symbol` and arithmetic.

    Attributes
    ----------
    terms : tuple of (int, tuple of Atom)
        The polynomial: coefficients (never 0) and their atoms, in a fixed order.
    """

    __slots__ = ("__dict__", "__weakref__", "_hash", "terms")

    terms: tuple[tuple[int, tuple[Atom, ...]], ...]
    _hash: int

    def __new__(cls, terms: tuple[tuple[int, tuple[Atom, ...]], ...]) -> Dim:
        """The one size with these terms."""
        made = _MADE.get(terms)
        if made is None:
            made = super().__new__(cls)
            made.terms = terms
            made._hash = hash(terms)
            _MADE[terms] = made
        return made

    def __reduce__(self) -> tuple[type[Dim], tuple[object]]:
        return Dim, (self.terms,)

    # Two sizes are equal when they are equal for every shape.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Size) -> Size:
        return _sum(self, other) if _is_size(other) else NotImplemented

    def __mul__(self, other: Size) -> Size:
        return _product(self, other) if _is_size(other) else NotImplemented

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
        return numbers(values)(self)

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
        if len(self.terms) > 1 and 0 < self._relations <= _MOST_RELATIONS:
            for coefficient, atoms in self.terms:
                if len(atoms) == 1 and isinstance(atoms[0], Operation):
                    rest = self - coefficient * Dim(((1, atoms),))
                    least, most = _related(rest, coefficient, atoms[0])
                    low, high = max(low, least), min(high, most)
        return low, high

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """Every symbol in the expression."""
        plain = (a for _, atoms in self.terms for a in atoms if isinstance(a, Symbol))
        return frozenset(plain).union(*map(symbols, self.operands))

    @cached_property
    def operands(self) -> tuple[Size, ...]:
        """The operands of its operations, each once."""
        found = (a for _, atoms in self.terms for a in atoms if isinstance(a, Operation))
        return tuple(dict.fromkeys(size for atom in found for size in (atom.a, atom.b)))

    @cached_property
    def written(self) -> int:
        """Number of terms and operations of the expression written out as a tree."""
        found = [a for _, atoms in self.terms for a in atoms if isinstance(a, Operation)]
        return len(self.terms) + sum(1 + written(atom.a) + written(atom.b) for atom in found)

    @cached_property
    def _relations(self) -> int:
        """Number of operations in the expression that `_related` knows."""
        found = [a for _, atoms in self.terms for a in atoms if isinstance(a, Operation)]
        inner = (size._relations for a in found for size in (a.a, a.b) if isinstance(size, Dim))
        return sum(map(_is_related, found)) + sum(inner)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        text = ""
        for coefficient, atoms in self.terms:
            factors = [str(a) for a in atoms]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            # An operation keeps to itself: 4*(n//2), but n*n//3 for (n*n)//3 alone.
            if len(factors) > 1 or (coefficient < 0 and not text):
                factors = [f"({f})" if "/" in f or "%" in f else f for f in factors]
            first, later = ("-", " - ") if coefficient < 0 else ("", " + ")
            text += (later if text else first) + "*".join(factors)
        if len(text) <= LONGEST_TEXT:
            return text
        digest = blake2b(text.encode(), digest_size=8).hexdigest()
        return f"{text[: LONGEST_TEXT - 19]}...#{digest}"  # one more than any text that is whole

    __repr__ = __str__


Size = int | Dim
#: Every size that is in use, by its terms.
_MADE: WeakValueDictionary[tuple[tuple[int, tuple[Atom, ...]], ...], Dim] = WeakValueDictionary()


def symbol(name: str, low: int = 0, high: int | None = None) -> Dim:
    """The size that is one symbol."""
    return Dim(((1, (Symbol(name, low, high),)),))


def of(found: Symbol) -> Dim:
    """A symbol as a size."""
    return Dim(((1, (found,)),))


def at(size: Size, values: Mapping[str, int]) -> int:
    """The number that `size` is for given symbols."""
    return size if isinstance(size, int) else size.at(values)


def numbers(values: Mapping[str, int]) -> Callable[[Size], int]:
    """A function from sizes to numbers for given symbols, which computes each part once."""
    known: dict[Dim, int] = {}

    def number(size: Size) -> int:
        if isinstance(size, int):
            return size
        found = known.get(size)
        if found is None:
            found = known[size] = sum(
                coefficient * math.prod(map(of_atom, atoms)) for coefficient, atoms in size.terms
            )
        return found

    def of_atom(atom: Atom) -> int:
        if isinstance(atom, Symbol):
            return values[atom.name]
        return OPERATIONS[atom.kind](number(atom.a), number(atom.b))

    return number


def bounds(size: Size) -> tuple[float, float]:
    """Least and greatest value of a size."""
    return (size, size) if isinstance(size, int) else size.bounds


def symbols(size: Size) -> frozenset[Symbol]:
    """The symbols that a size depends on."""
    return frozenset() if isinstance(size, int) else size.symbols


def written(size: Size) -> int:
    """Number of terms and operations of a size; see `Dim.written`."""
    return 1 if isinstance(size, int) else size.written


def length(size: Size) -> int:
    """Characters of a size's text; a cut text counts as longer than any whole text."""
    found = len(str(size))
    return found if found <= LONGEST_TEXT else found + written(size)


def as_symbol(size: Size) -> Symbol | None:
    """The symbol, if a size is one symbol; else None."""
    found = as_multiple(size)
    return found[1] if found is not None and found[0] == 1 else None


def as_multiple(size: Size) -> tuple[int, Symbol] | None:
    """Factor and symbol, if a size is a multiple of one symbol; else None."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        coefficient, atoms = size.terms[0]
        if coefficient > 0 and len(atoms) == 1 and isinstance(atoms[0], Symbol):
            return coefficient, atoms[0]
    return None


@lru_cache(_REMEMBERED)
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
    inner = single(rest)
    if isinstance(b, int) and b > 0 and inner is not None and inner.kind == "floordiv":
        if isinstance(inner.b, int) and inner.b > 0:
            return whole + floordiv(inner.a, inner.b * b)
    return whole + operation("floordiv", rest, b)


@lru_cache(_REMEMBERED)
def quotient(a: Size, b: Size) -> Size | None:
    """The size whose product with `b` is `a`, for all shapes; None where no polynomial is it."""
    rest, by = _terms(a), _terms(b)
    if not by:
        return None
    first = in_order(by)[0]
    whole: Terms = {}
    while rest:
        # A polynomial order: the first term of a product is the product of the first terms.
        leading = in_order(rest)[0]
        part, left = divided({leading: rest[leading]}, {first: by[first]})
        if left:
            return None
        whole = added(whole, part)
        rest = added(rest, {f: -c for f, c in multiplied(part, by).items()})
        rest = {factors: c for factors, c in rest.items() if c}
    return _make(whole)


@lru_cache(_REMEMBERED)
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
    return operation("floormod", rest, b)


@lru_cache(_REMEMBERED)
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
    return operation(kind, a, b)


def operation(kind: str, a: Size, b: Size) -> Dim:
    return Dim(((1, (Operation(kind, a, b),)),))


def single(size: Size) -> Operation | None:
    """The operation, if a size is one operation; else None."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        coefficient, atoms = size.terms[0]
        if coefficient == 1 and len(atoms) == 1 and isinstance(atoms[0], Operation):
            return atoms[0]
    return None


# ---- inside ----------------------------------------------------------------------------------


def _is_size(value: object) -> bool:
    return isinstance(value, int | Dim)


@lru_cache(_REMEMBERED)
def _sum(a: Size, b: Size) -> Size:
    return _make(added(_terms(a), _terms(b)))


@lru_cache(_REMEMBERED)
def _product(a: Size, b: Size) -> Size:
    return _make(multiplied(_terms(a), _terms(b)))


def _terms(size: Size) -> Terms:
    if isinstance(size, Dim):
        return {atoms: coefficient for coefficient, atoms in size.terms}
    return {(): int(size)} if size else {}


def _make(terms: Terms) -> Size:
    kept = {atoms: c for atoms, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Dim(tuple((kept[atoms], atoms) for atoms in in_order(kept)))


def _divide(a: Size, b: Size) -> tuple[Size, Size]:
    """(q, r) with ``a == q * b + r``: q has every term of `a` that a one-term `b` divides."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return (1, 0) if a == b else (0, a)
    whole, rest = divided(_terms(a), divisor)
    return _make(whole), _make(rest)


def _decided(answer: Size, a: object, sign: str, b: object) -> bool:
    if isinstance(answer, Dim):
        raise Undecided(f"whether {a} {sign} {b} depends on the shapes")
    return answer == 1


#: The operations on numbers.
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "eq": lambda a, b: int(a == b),
    "lt": lambda a, b: int(a < b),
    "stretch": lambda a, b: b if a == 1 else a,
}


def _is_related(atom: Operation) -> bool:
    by = atom.b
    return atom.kind in ("min", "max") or (
        atom.kind == "floordiv" and isinstance(by, int) and by > 0
    )


def _related(rest: Size, coefficient: int, atom: Operation) -> tuple[float, float]:
    """Bounds of ``rest + coefficient * atom`` by the atom's operands, which may cancel.

    ``n - max(n - 1, 0)`` is the smaller one of 1 and n; twice ``n - n//2`` is n, or n + 1.
    """
    if not _is_related(atom):
        return -INFINITY, INFINITY
    if atom.kind == "floordiv":
        by = atom.b
        assert isinstance(by, int)
        low, high = bounds(rest * by + coefficient * atom.a)
        remainders = (0, coefficient * (by - 1))
        return -_quotient(max(remainders) - low, by), _quotient(high - min(remainders), by)
    (low, high), (other_low, other_high) = (
        bounds(rest + coefficient * part) for part in (atom.a, atom.b)
    )
    choose = min if (atom.kind == "min") == (coefficient > 0) else max
    return choose(low, other_low), choose(high, other_high)


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
