"""A size of one symbol for many values of it at once; a module of its own, as it needs NumPy.

Enters: a size as JSON (`json_form.to_json`), the symbol's values. Leaves: arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .json_form import integer, once
from .size import OPERATIONS


def json_over(
    size: object, name: str, values: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """A size's numbers for many values of its symbol, and whether each is defined (no x // 0)."""
    valid = np.ones(values.shape, bool)

    def over(size: object) -> npt.NDArray[np.int64]:
        if isinstance(size, list):
            return known(size)
        return np.full(values.shape, integer(size), np.int64)

    @once
    def known(terms: list[Any]) -> npt.NDArray[np.int64]:
        total = np.zeros(values.shape, np.int64)
        for coefficient, atoms in terms:
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
