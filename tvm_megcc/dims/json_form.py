"""Sizes as JSON, and what they are for given symbols."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .size import OPERATIONS, Atom, Size, Symbol


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
        return OPERATIONS[a[0]](json_at(a[1], values), json_at(a[2], values))

    assert isinstance(size, list)
    return sum(coefficient * math.prod(map(atom, atoms)) for coefficient, atoms in size)


def json_symbols(size: object) -> set[str]:
    """The names of the symbols in a size of `to_json`."""
    if isinstance(size, int):
        return set()
    assert isinstance(size, list)
    atoms = [a for _, atoms in size for a in atoms]
    plain = {a for a in atoms if isinstance(a, str)}
    return plain.union(*(json_symbols(b) for a in atoms if isinstance(a, list) for b in a[1:]))


def json_text(size: object) -> str:
    """A size of `to_json` for people: ``2*n + 1``, ``floordiv(n, 2)``."""
    if isinstance(size, int):
        return str(size)

    def atom(a: Any) -> str:
        return a if isinstance(a, str) else f"{a[0]}({json_text(a[1])}, {json_text(a[2])})"

    assert isinstance(size, list)
    terms = [
        "*".join([*([str(c)] if c != 1 or not atoms else []), *map(atom, atoms)])
        for c, atoms in size
    ]
    return " + ".join(terms).replace("+ -", "- ") or "0"
