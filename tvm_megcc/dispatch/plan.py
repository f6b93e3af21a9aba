"""The plan of a dispatched function: its variants, and the sizes that each serves.

The function attribute ``tvm_megcc.dispatch`` is JSON: ``{"variants": [{"function": name, "ranges":
{dim: [low, high or null]}}, ...], "fallback": name or null}``. Ranges are half-open; variants are
tried in order.

Example
-------
>>> plan_of(mod, "main").variants[0]                              # doctest: +SKIP
('main_n1', {'n': (1, 2)})
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tvm

ATTRIBUTE = "tvm_megcc.dispatch"

#: Half-open: (first, one past the last); None where there is no end.
Interval = tuple[int, int | None]
Ranges = dict[str, Interval]


@dataclass(frozen=True, slots=True)
class DispatchPlan:
    """The variants of one function in the order in which they are tried.

    ``fallback`` takes the sizes that no variant takes; without one they are refused.
    """

    variants: tuple[tuple[str, Ranges], ...]
    fallback: str | None = None

    @property
    def functions(self) -> tuple[str, ...]:
        """The variants' functions, each once, and the fallback."""
        names = [*(function for function, _ in self.variants)]
        return tuple(dict.fromkeys([*names, *([self.fallback] if self.fallback else [])]))

    def to_json(self) -> str:
        variants = [{"function": name, "ranges": ranges} for name, ranges in self.variants]
        return json.dumps({"variants": variants, "fallback": self.fallback})

    def __str__(self) -> str:
        rows = [(name, *map(_text, ranges.items())) for name, ranges in self.variants]
        if self.fallback:
            rows.append((self.fallback, "all other sizes"))
        return "\n".join(f"{row[0]}: {', '.join(row[1:])}" for row in rows)


def _text(item: tuple[str, Interval]) -> str:
    dim, (low, high) = item
    if high is None:
        return f"{dim} >= {low}"
    return f"{dim} == {low}" if high == low + 1 else f"{low} <= {dim} < {high}"


def plan_of(mod: tvm.IRModule, function: str) -> DispatchPlan | None:
    """The plan of `function` of a module; None if it is not dispatched."""
    attrs = mod[function].attrs
    if not attrs or ATTRIBUTE not in attrs:
        return None
    row = json.loads(str(attrs[ATTRIBUTE]))
    variants = tuple(
        (v["function"], {dim: (low, high) for dim, (low, high) in v["ranges"].items()})
        for v in row["variants"]
    )
    return DispatchPlan(variants, row["fallback"])
