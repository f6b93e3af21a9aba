"""Dims of inputs as a user gives them: a size, a name, bounds, a multiple of a symbol.

Example
-------
>>> read("1..64"), str(read("32*h")), read("32*(h=1..20)").of.high, read("batch")
(Symbol(name='', low=1, high=64), '32*h', 20, 'batch')
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .size import Symbol

_NAME = r"[A-Za-z_]\w*"
_BOUNDS = rf"(?:({_NAME})\s*=\s*)?(\d+)\s*\.\.\s*(\d+)?"
_MULTIPLE = rf"(\d+)\s*\*\s*(?:({_NAME})|\?|\(\s*{_BOUNDS}\s*\))"


@dataclass(frozen=True, slots=True)
class Multiple:
    """A dim that is `factor` times a symbol with its own bounds; its name may be empty."""

    factor: int
    of: Symbol

    def __str__(self) -> str:
        return f"{self.factor}*{self.of.name}"

    def named(self, name: str) -> Multiple:
        """The multiple with another name for its symbol."""
        return replace(self, of=replace(self.of, name=name))


#: A size, a name, bounds, a multiple; None or -1 keeps the model's dim.
GivenDim = int | str | Symbol | Multiple | None


def read(text: str) -> str | Symbol | Multiple:
    """Bounds (``1..64``, ``n=1..64``) or a multiple (``32*h``, ``32*(h=1..20)``, ``32*?``).

    Any other text is a name.
    """
    if bounds := re.fullmatch(_BOUNDS, text):
        return _symbol(bounds[1], bounds[2], bounds[3])
    found = re.fullmatch(_MULTIPLE, text)
    if found is None or int(found[1]) < 2:
        return text
    return Multiple(int(found[1]), _symbol(found[2] or found[3], found[4] or "0", found[5]))


def factor_of(dim: str) -> tuple[int, str]:
    """Factor and name in a dim's text: ``32*h`` gives 32 and ``h``, ``h`` gives 1 and ``h``."""
    found = read(dim)
    return (found.factor, found.of.name) if isinstance(found, Multiple) else (1, dim)


def _symbol(name: str | None, low: str, high: str | None) -> Symbol:
    return Symbol(name or "", int(low), None if high is None else int(high))
