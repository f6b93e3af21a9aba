"""Sizes as JSON: written, read, evaluated for given symbols.

Sizes share parts. As Python objects the shared parts are one list; in a file they are rows of a
table, and ``{"size": row}`` refers to them (`Shared`, `whole`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from .size import LONGEST_TEXT, OPERATIONS, Atom, Dim, Size, Symbol, written

#: Key of an object that refers to a size of the table.
REFERENCE = "size"
#: Terms and operations from which on a size goes into the table.
_WORTH = 6

T = TypeVar("T")
#: Terms of a size: a coefficient, and values for the factors.
Parts: TypeAlias = list[tuple[int, list[T]]]


def to_json(size: Size) -> object:
    """A size as JSON: a number, or ``[[coefficient, [name or [kind, a, b], ...]], ...]``."""
    return Shared(()).json(size)


class Shared:
    """Sizes for a file, in which a long size that occurs several times is written once.

    Parameters
    ----------
    sizes : iterable of Size
        All sizes of the file, each as often as it is written.

    Attributes
    ----------
    table : list of JSON
        The shared sizes; each may refer to those before it.
    """

    def __init__(self, sizes: Iterable[Size]) -> None:
        self.table: list[object] = []
        self._known: dict[Size, object] = {}
        uses: Counter[Dim] = Counter()
        order: list[Dim] = []
        for size in sizes:
            _count(size, uses, order)
        for size in order:  # operands before what they are operands of
            if uses[size] > 1 and written(size) >= _WORTH:
                self.table.append(self.json(size))
                self._known[size] = {REFERENCE: len(self.table) - 1}

    def json(self, size: Size) -> object:
        """A size, with references to the table; equal parts of it are one object."""
        if isinstance(size, int):
            return size
        if size not in self._known:
            self._known[size] = [
                [coefficient, [self._atom(a) for a in atoms]] for coefficient, atoms in size.terms
            ]
        return self._known[size]

    def _atom(self, atom: Atom) -> object:
        if isinstance(atom, Symbol):
            return atom.name
        return [atom.kind, self.json(atom.a), self.json(atom.b)]


def _count(size: Size, uses: Counter[Dim], order: list[Dim]) -> None:
    if isinstance(size, int):
        return
    uses[size] += 1
    if uses[size] == 1:
        for _, atoms in size.terms:
            for atom in atoms:
                if not isinstance(atom, Symbol):
                    _count(atom.a, uses, order)
                    _count(atom.b, uses, order)
        order.append(size)


def whole(value: object, table: list[Any]) -> object:
    """JSON with the sizes of a table in place of references to it.

    Raises
    ------
    LookupError
        A reference to a row that the table does not have.
    """
    sizes: list[object] = []

    def replaced(part: object) -> object:
        if isinstance(part, list):
            return [replaced(p) for p in part]
        if not isinstance(part, dict):
            return part
        if part.keys() == {REFERENCE}:
            return sizes[part[REFERENCE]]
        return {key: replaced(p) for key, p in part.items()}

    for size in table:
        sizes.append(replaced(size))
    return replaced(value)


def json_at(size: object, values: Mapping[str, int]) -> int:
    """The number that a size of `to_json` is for given symbols."""

    def total(terms: Parts[int]) -> int:
        return sum(coefficient * math.prod(factors) for coefficient, factors in terms)

    return fold(size, integer, values.__getitem__, lambda kind, a, b: OPERATIONS[kind](a, b), total)


def json_symbols(size: object) -> set[str]:
    """The names of the symbols in a size of `to_json`."""

    def union(terms: Parts[set[str]]) -> set[str]:
        return set().union(*(names for _, factors in terms for names in factors))

    return fold(size, lambda _: set(), lambda name: {name}, lambda _, a, b: a | b, union)


def json_text(size: object) -> str:
    """A size of `to_json` as text, ``2*n + 1`` or ``floordiv(n, 2)``; a long text is cut."""

    def total(terms: Parts[str]) -> str:
        found = ["*".join([*([str(c)] if c != 1 or not factors else []), *factors])
                 for c, factors in terms]  # fmt: skip
        made = " + ".join(found).replace("+ -", "- ") or "0"
        return made if len(made) <= LONGEST_TEXT else f"{made[:LONGEST_TEXT]}..."

    return fold(size, str, str, lambda kind, a, b: f"{kind}({a}, {b})", total)


def fold(
    size: object,
    number: Callable[[object], T],
    name: Callable[[str], T],
    operation: Callable[[str, T, T], T],
    total: Callable[[Parts[T]], T],
) -> T:
    """A value for a size of `to_json`, from the values of its parts.

    Parts that several sizes share are one object: each is computed once. ``total`` gets each term
    as its coefficient and the values of its factors.
    """
    known: dict[int, T] = {}

    def value(size: object) -> T:
        if not isinstance(size, list):
            return number(size)
        if id(size) not in known:
            known[id(size)] = total([(c, [*map(factor, factors)]) for c, factors in size])
        return known[id(size)]

    def factor(part: Any) -> T:
        return (
            name(part)
            if isinstance(part, str)
            else operation(part[0], value(part[1]), value(part[2]))
        )

    return value(size)


def integer(size: object) -> int:
    assert isinstance(size, int)
    return size
