"""What the functions of this room do, as an attribute says it, and where they wait."""

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
    """Call ``then`` or ``other`` with the operands behind the first, which says which."""

    then: str
    other: str


@dataclass(frozen=True, slots=True)
class Iterations:
    """Call ``body`` again and again.

    The function's parameters are the limit (``int64``), the condition (``bool``), each where there
    is one, the states, what is read by rows, and what stays. The body gets the number of the
    iteration, the states, a row of each, and what stays; it gives the condition, where there is
    one, the states, and a row for each output. The function gives the states, the outputs, and,
    where there are a condition and outputs, the number of iterations (``[1]``). Rows and outputs,
    in this order, of which ``backwards`` says so are counted from the end.
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
    """What a function of this module's making does; None for any other."""
    found = read(func, ATTRIBUTE)
    if found is None:
        return None
    if "then" in found:
        return Branches(**found)
    return Iterations(**{**found, "backwards": tuple(found["backwards"])})


def plain_functions(mod: tvm.IRModule) -> Iterator[tuple[relax.GlobalVar, relax.Function]]:
    """The Relax functions of a module that compute, without those that only choose or repeat."""
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function) and region_of(func) is None:
            yield gvar, func


def with_region(func: relax.Function, region: Region) -> relax.Function:
    """The function with what it does in its attribute."""
    return written(func, ATTRIBUTE, asdict(region))


class Functions:
    """Functions that wait for the module which they will be part of.

    They are public: of private ones TVM's DeadCodeElimination removes parameters and results.
    """

    def __init__(self) -> None:
        self._found: dict[relax.GlobalVar, relax.Function] = {}
        self._names = count()

    def unused(self, prefix: str = "lv") -> str:
        """A name for a variable that none has, of whichever function of the module.

        Those that a builder gives begin anew in every function: by such a name, what is known of
        one function's variable is believed of another's.
        """
        return f"{prefix}_{next(self._names)}"

    def add(self, name: str, func: relax.Function) -> relax.GlobalVar:
        """What to call the function by; its name is changed where it is taken."""
        taken = {gvar.name_hint for gvar in self._found} | {"main"}
        numbered = (f"{name}_{k}" if k else name for k in range(len(taken) + 1))
        gvar = relax.GlobalVar(next(n for n in numbered if n not in taken))
        relax.expr._update_type(gvar, func.ty)
        self.update(gvar, func)
        return gvar

    def update(self, gvar: relax.GlobalVar, func: relax.Function) -> None:
        """Another function for this variable, of the same type."""
        self._found[gvar] = func.with_attr("global_symbol", gvar.name_hint)

    def into(self, mod: tvm.IRModule) -> None:
        """Make the functions part of `mod`."""
        for gvar, func in self._found.items():
            mod[gvar] = func
