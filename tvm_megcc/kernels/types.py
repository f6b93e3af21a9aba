"""The element types that a kernel takes, as its header's ``dtype:`` line says.

Enters: the line and the operator's contract. Leaves: `Types`, which says whether a call's types are
among them.

Example
-------
>>> from tvm_megcc.kernels.contract import contract
>>> taken = parse("x=i8,u8 w=i8 bias=i32 y=i8", contract("conv2d"))
>>> taken.refusal({"X": "u8", "W": "i8", "B": "i32", "Y": "i8"})
''
>>> taken.refusal({"X": "u8", "W": "u8", "B": "i32", "Y": "i8"})
'takes w=i8, not u8'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tvm_megcc.core.dtypes import DTYPES
from tvm_megcc.kernels.contract import Contract
from tvm_megcc.kernels.expression import Facts

_NAMES = frozenset(row.name for row in DTYPES if not row.is_storage)


@dataclass(frozen=True, slots=True)
class Types:
    """The types that each type variable of the operator may be.

    Attributes
    ----------
    text : str
        The header's line.
    choices : mapping
        Type variable -> the operand that names it, and the types that it may be.
    alike : bool
        All variables are the same type.
    """

    text: str
    choices: Mapping[str, tuple[str, tuple[str, ...]]]
    alike: bool

    def refusal(self, facts: Facts) -> str:
        """Why a call of these types is not served, or an empty string.

        A variable that the call has no operand of is anything.
        """
        here = [v for v in self.choices if v in facts]
        for variable in here:
            operand, allowed = self.choices[variable]
            name = f"{operand}=" if len(self.choices) > 1 else ""
            given = facts[variable]
            if given not in allowed:
                return f"takes {name}{', '.join(allowed)}, not {given}"
            if self.alike and given != facts[here[0]]:
                return f"takes {name}{facts[here[0]]} beside {facts[here[0]]}, not {given}"
        return ""

    def combinations(self) -> Iterator[dict[str, str]]:
        """Every choice of types that the kernel takes."""
        for chosen in product(*(allowed for _, allowed in self.choices.values())):
            if not self.alike or len(set(chosen)) <= 1:
                yield dict(zip(self.choices, chosen, strict=True))


def parse(text: str, contract: Contract) -> Types:
    """Read a ``dtype:`` line: ``f32, f16`` for all operands alike, or ``x=i8 w=i8,u8 ...``.

    Raises
    ------
    ValueError
        For a type that there is not, an operand that the operator has not or whose type the
        operator fixes, and a type variable about which the line says nothing.
    """
    if "=" not in text:
        allowed = _list(text, contract)
        first = {o.dtype: o.name for o in reversed(contract.operands)}
        return Types(text, {v: (first[v], allowed) for v in contract.variables}, True)
    named: dict[str, tuple[str, tuple[str, ...]]] = {}
    for word in text.split():
        name, equals, types = word.partition("=")
        operand = contract.operand(name)
        if not equals or operand.is_fixed or operand.dtype in named:
            raise ValueError(
                f"{contract.op}: dtype: {word!r} is not a new type for an operand: "
                + ("it is always " + operand.dtype if operand.is_fixed else "write x=i8,u8")
            )
        named[operand.dtype] = (name, _list(types, contract))
    missing = [o.name for o in contract.operands if not o.is_fixed and o.dtype not in named]
    if missing:
        raise ValueError(f"{contract.op}: dtype: nothing is said about operand {missing[0]!r}")
    return Types(text, {v: named[v] for v in contract.variables}, False)


def _list(text: str, contract: Contract) -> tuple[str, ...]:
    found = tuple(word.strip() for word in text.split(","))
    for name in found:
        if name not in _NAMES:
            raise ValueError(f"{contract.op}: dtype: {name!r} is no type; there are f32, i8, ...")
    return found
