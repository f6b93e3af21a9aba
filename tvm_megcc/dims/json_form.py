"""Sizes as JSON: written, read, evaluated for given symbols.

Sizes share parts. As Python objects the shared parts are one list; in a file they are rows of a
table, and ``{"size": row}`` refers to them (`Shared`, `whole`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .size import LONGEST_TEXT, OPERATIONS, Atom, Dim, Size, Symbol, written

#: Key of an object that refers to a size of the table.
REFERENCE = "size"
#: Terms and operations from which on a size goes into the table.
_WORTH = 6

T = TypeVar("T")


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

    def number(size: object) -> int:
        return known(size) if isinstance(size, list) else integer(size)

    def atom(a: Any) -> int:
        if isinstance(a, str):
            return values[a]
        return OPERATIONS[a[0]](number(a[1]), number(a[2]))

    @once
    def known(terms: list[Any]) -> int:
        return sum(coefficient * math.prod(map(atom, atoms)) for coefficient, atoms in terms)

    return number(size)


def json_symbols(size: object) -> set[str]:
    """The names of the symbols in a size of `to_json`."""
    found: set[str] = set()

    @once
    def look(terms: list[Any]) -> None:
        for _, atoms in terms:
            for a in atoms:
                if isinstance(a, str):
                    found.add(a)
                else:
                    for part in a[1:]:
                        if isinstance(part, list):
                            look(part)

    if isinstance(size, list):
        look(size)
    return found


def json_text(size: object) -> str:
    """A size of `to_json` as text, ``2*n + 1`` or ``floordiv(n, 2)``; a long text is cut."""

    def text(size: object) -> str:
        return known(size) if isinstance(size, list) else str(size)

    def atom(a: Any) -> str:
        return a if isinstance(a, str) else f"{a[0]}({text(a[1])}, {text(a[2])})"

    @once
    def known(found: list[Any]) -> str:
        terms = [
            "*".join([*([str(c)] if c != 1 or not atoms else []), *map(atom, atoms)])
            for c, atoms in found
        ]
        made = " + ".join(terms).replace("+ -", "- ") or "0"
        return made if len(made) <= LONGEST_TEXT else f"{made[:LONGEST_TEXT]}..."

    return text(size)


def once(function: Callable[[list[Any]], T]) -> Callable[[list[Any]], T]:
    """The function with its results remembered by object: sizes share parts."""
    results: dict[int, T] = {}

    def call(terms: list[Any]) -> T:
        if id(terms) not in results:
            results[id(terms)] = function(terms)
        return results[id(terms)]

    return call


def integer(size: object) -> int:
    assert isinstance(size, int)
    return size
