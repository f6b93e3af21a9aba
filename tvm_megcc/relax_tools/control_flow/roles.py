"""Regions: attributes of functions that choose or repeat, and a store of new functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count

import tvm
from tvm import relax

from tvm_megcc.relax_tools.attributes import read, written

ATTRIBUTE = "tvm_megcc.region"


@dataclass(frozen=True, slots=True)
class Branches:
    """Call ``then`` or ``other`` by the first operand, with the operands behind it."""

    then: str
    other: str


@dataclass(frozen=True, slots=True)
class Iterations:
    """Call ``body`` again and again.

    The function's parameters are the limit (``int64``) and the condition (``bool``), where they
    exist, the states, tensors that are read row by row, and constant operands. The body gets the
    number of the iteration, the states, one row of each tensor, and the constant operands. It
    returns the condition, where there is one, the states, and a row for each output. The function
    returns the states, the outputs, and, with a condition and outputs, the number of iterations
    (``[1]``). ``backwards`` tells which rows and outputs, in this order, count from the end.
    """

    body: str
    limit: bool
    condition: bool
    states: int
    rows: int
    outputs: int
    backwards: tuple[bool, ...]


Region = Branches | Iterations


def region_of(func: object) -> Region | None:
    """Region of a function that chooses or repeats; None for any other."""
    found = read(func, ATTRIBUTE)
    if found is None:
        return None
    if "then" in found:
        return Branches(**found)
    return Iterations(**{**found, "backwards": tuple(found["backwards"])})


def plain_functions(mod: tvm.IRModule) -> Iterator[tuple[relax.GlobalVar, relax.Function]]:
    """Relax functions of a module that compute, without those that only choose or repeat."""
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function) and region_of(func) is None:
            yield gvar, func


def with_region(func: relax.Function, region: Region) -> relax.Function:
    """Add the region to a function's attributes."""
    return written(func, ATTRIBUTE, asdict(region))


class Functions:
    """New functions, until they become part of a module.

    They are public, as TVM's DeadCodeElimination removes parameters and results of private ones.
    """

    def __init__(self) -> None:
        self._found: dict[relax.GlobalVar, relax.Function] = {}
        self._names = count()

    def unused(self, prefix: str = "lv") -> str:
        """Name for a variable that no function of the module uses yet.

        Names from a builder are unique within one function only: facts noted by such a name would
        apply to variables of other functions, too.
        """
        return f"{prefix}_{next(self._names)}"

    def add(self, name: str, func: relax.Function) -> relax.GlobalVar:
        """Add a function, under another name if `name` is taken."""
        taken = {gvar.name_hint for gvar in self._found} | {"main"}
        numbered = (f"{name}_{k}" if k else name for k in range(len(taken) + 1))
        gvar = relax.GlobalVar(next(n for n in numbered if n not in taken))
        relax.expr._update_type(gvar, func.ty)
        self.update(gvar, func)
        return gvar

    def update(self, gvar: relax.GlobalVar, func: relax.Function) -> None:
        """Replace a function by one of the same type."""
        self._found[gvar] = func.with_attr("global_symbol", gvar.name_hint)

    def into(self, mod: tvm.IRModule) -> None:
        """Add the functions made so far to `mod`."""
        for gvar, func in self._found.items():
            mod[gvar] = func
