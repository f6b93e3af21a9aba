"""What a dispatched module says to the compiler: its functions, and for which sizes each is.

The module attribute ``tvm_megcc.dispatch`` is JSON: ``{"main": {"variants": [{"function": name,
"ranges": {dim: [low, high or null]}}, ...], "fallback": name or null}}``. Ranges are half-open;
variants are tried in order.

Example
-------
>>> plan_of(mod, "main").variants[0]                              # doctest: +SKIP
('main_n1_2', {'n': (1, 2)})
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import tvm

ATTRIBUTE = "tvm_megcc.dispatch"

Ranges = dict[str, tuple[int, int | None]]


@dataclass(frozen=True, slots=True)
class DispatchPlan:
    """The variants of one function in the order in which they are tried.

    ``fallback`` takes the sizes that no variant takes; without one they are refused.
    """

    variants: tuple[tuple[str, Ranges], ...]
    fallback: str | None = None

    @property
    def functions(self) -> tuple[str, ...]:
        """The variants' functions, each once."""
        return tuple(dict.fromkeys(function for function, _ in self.variants))


def plan_of(mod: tvm.IRModule, function: str) -> DispatchPlan | None:
    """How `function` of a module is dispatched; None when it is not."""
    if not mod.attrs or ATTRIBUTE not in mod.attrs:
        return None
    row = json.loads(str(mod.attrs[ATTRIBUTE])).get(function)
    if row is None:
        return None
    variants = tuple(
        (v["function"], {dim: (low, high) for dim, (low, high) in v["ranges"].items()})
        for v in row["variants"]
    )
    return DispatchPlan(variants, row["fallback"])
