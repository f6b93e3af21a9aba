"""A size of one symbol for many values of it at once; a module of its own, as it needs NumPy.

Enters: a size as JSON (`json_form.to_json`), the symbol's values. Leaves: arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .json_form import Parts, fold, integer
from .size import OPERATIONS

Numbers: TypeAlias = npt.NDArray[np.int64]


def json_over(size: object, name: str, values: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """A size's numbers for many values of its symbol, and whether each is defined (no x // 0)."""
    valid = np.ones(values.shape, bool)

    def number(size: object) -> Numbers:
        return np.full(values.shape, integer(size), np.int64)

    def symbol(found: str) -> Numbers:
        assert found == name, f"{found} is another symbol"
        return values

    def operation(kind: str, a: Numbers, b: Numbers) -> Numbers:
        if kind in ("floordiv", "floormod"):
            np.logical_and(valid, b != 0, out=valid)
            b = np.where(b == 0, 1, b)
        return np.asarray(_OVER[kind](a, b)).astype(np.int64)

    def total(terms: Parts[Numbers]) -> Numbers:
        return sum((prod(factors, start=number(c)) for c, factors in terms), start=number(0))

    return fold(size, number, symbol, operation, total), valid


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
