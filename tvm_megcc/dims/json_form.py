"""Sizes as JSON, and what they are for given symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

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


def json_over(
    size: object, name: str, values: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The numbers that a size of one symbol is for many values of it, and where it is one."""
    valid = np.ones(values.shape, bool)

    def over(size: object) -> npt.NDArray[np.int64]:
        if isinstance(size, int):
            return np.full(values.shape, size, np.int64)
        assert isinstance(size, list)
        total = np.zeros(values.shape, np.int64)
        for coefficient, atoms in size:
            term = np.full(values.shape, coefficient, np.int64)
            for atom in atoms:
                term = term * (values if atom == name else operation(atom))
            total = total + term
        return total

    def operation(atom: Any) -> npt.NDArray[np.int64]:
        assert isinstance(atom, list), f"{atom} is another symbol"
        a, b = over(atom[1]), over(atom[2])
        if atom[0] in ("floordiv", "floormod"):
            np.logical_and(valid, b != 0, out=valid)
            b = np.where(b == 0, 1, b)
        return np.asarray(_OVER[atom[0]](a, b)).astype(np.int64)

    return over(size), valid


#: `OPERATIONS` of arrays.
_OVER: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": np.minimum,
    "max": np.maximum,
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "stretch": lambda a, b: np.where(a == 1, b, a),
}
assert _OVER.keys() == OPERATIONS.keys()


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
