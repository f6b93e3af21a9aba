"""Contracts of operators: the operands, attributes, facts and codes of a kernel call.

The contract is the comment, the macros and the enum of ``codegen_c/include/op/<op>.h``, which C
compiles too; nothing else says it. Enters: the name of an operator. Leaves: its contract, against
which kernel headers, requests and test cases are checked.

Grammar: docs/adding-a-kernel.md.

Example
-------
>>> [o.name for o in contract("layer_norm").inputs_of({"scale": 0, "bias": 1})]
['x', 'bias']
>>> contract("reduce").codes["REDUCE_MAX"], codes("reduce")["MAX"]
(2, 2)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

import tvm_megcc.codegen_c as codegen_c
from tvm_megcc.codegen_c.sources import header_text
from tvm_megcc.core.dtypes import DTYPES
from tvm_megcc.dims import Dim, Size
from tvm_megcc.kernels import constants
from tvm_megcc.kernels.expression import Expression, Fact, Facts

OP_DIR = Path(codegen_c.__file__).parent / "include" / "op"

_LINE = re.compile(r"//   (in|out|fact) +([\w.]+): *(.*?) *")
_TENSOR = re.compile(r"(\w+)(?: *\[([^]]*)\])?(?: +if +(.+))?")
_RUN = re.compile(r"([a-z]*)(\d+)\.\.\1(\d+)")
_NAMES = frozenset(row.name for row in DTYPES)


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor of a call.

    Attributes
    ----------
    name : str
    dtype : str
        A type, or a type variable: a capital letter.
    shape : tuple of Expression, or None
        Over the facts; a call's tensor may have the same elements in another shape.
    there : Expression
        Over the facts: whether a call has it.
    """

    name: str
    dtype: str
    shape: tuple[Expression, ...] | None
    there: Expression

    @property
    def is_fixed(self) -> bool:
        return self.dtype in _NAMES


@dataclass(frozen=True, slots=True)
class Tensor:
    """Type and, where known, dims of an operand of a call."""

    dtype: str
    shape: Sequence[Size] | None = None


@dataclass(frozen=True, slots=True)
class Contract:
    """An operator as its header says it.

    Attributes
    ----------
    op, summary : str
    inputs, outputs : tuple of Operand
        In the order of ``ptr``.
    attributes : tuple of str
        In the order of ``attr``, in lower case.
    facts : mapping
        Every fact besides the types -> the values that it may have; none: any number.
    codes : mapping
        The header's macros, and those of the headers that it includes, as in C.
    """

    op: str
    summary: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    attributes: tuple[str, ...]
    facts: Mapping[str, tuple[int, ...]]
    codes: Mapping[str, int]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def variables(self) -> tuple[str, ...]:
        """The type variables, in the order of the operands."""
        return tuple(dict.fromkeys(o.dtype for o in self.operands if not o.is_fixed))

    @property
    def names(self) -> frozenset[str]:
        """Everything that a formula over the facts may name besides C's constants."""
        return frozenset((*self.facts, *self.variables))

    def operand(self, name: str) -> Operand:
        """An operand by its name.

        Raises
        ------
        ValueError
            When there is none; the message names all.
        """
        for operand in self.operands:
            if operand.name == name:
                return operand
        names = ", ".join(o.name for o in self.operands)
        raise ValueError(f"{self.op}: there is no operand {name!r}; it has {names}")

    def inputs_of(self, facts: Facts) -> tuple[Operand, ...]:
        """The inputs that a call with these facts has, in the order of ``ptr``."""
        return tuple(o for o in self.inputs if o.there(facts))

    def completed(self, facts: Facts, tensors: Mapping[str, Tensor]) -> dict[str, Fact]:
        """The facts of a call, and the types of its inputs and outputs `tensors`, by variable.

        Raises
        ------
        ValueError
            For a fact or an operand that is missing or unknown, a value that a fact cannot have, a
            type or a number of elements that contradicts the header.
        """
        self.check_facts(facts)
        found: dict[str, Fact] = {**facts, **self.types(facts, tensors)}
        for operand in self.operands:
            if operand.name in tensors:
                self._check_shape(operand, tensors[operand.name], found)
        return found

    def check_facts(self, facts: Facts) -> None:
        """Refuse facts that are missing or unknown, and values that they cannot have."""
        for name in self.facts.keys() - facts.keys():
            raise ValueError(f"{self.op}: the fact {name!r} is missing")
        for name, value in facts.items():
            if name not in self.facts:
                known = ", ".join(self.facts)
                raise ValueError(f"{self.op}: {name!r} is no fact of it; there are {known}")
            allowed = self.facts[name]
            if isinstance(value, str) or (allowed and value not in allowed):
                wanted = ", ".join(map(str, allowed)) or "a number"
                raise ValueError(f"{self.op}: the fact {name!r} is {value!r}, not {wanted}")

    def types(self, facts: Facts, tensors: Mapping[str, Tensor]) -> dict[str, str]:
        """Type variable -> type, from the operands of a call; of what it has not, nothing."""
        wanted = (*self.inputs_of(facts), *self.outputs)
        for name in tensors:
            if self.operand(name) not in wanted:
                condition = self.operand(name).there.text
                raise ValueError(f"{self.op}: operand {name!r} is given, but not: {condition}")
        found: dict[str, str] = {}
        first: dict[str, str] = {}
        for operand in wanted:
            if operand.name not in tensors:
                raise ValueError(
                    f"{self.op}: operand {operand.name!r} is missing; the call has"
                    f" {', '.join(tensors)}"
                )
            given = tensors[operand.name].dtype
            name = operand.dtype
            fixed = name if operand.is_fixed else found.setdefault(name, given)
            if fixed != given:
                why = f", as operand {first[name]!r} is" if name in first else ""
                raise ValueError(
                    f"{self.op}: operand {operand.name!r} is {given}, not {fixed}{why}"
                )
            first.setdefault(name, operand.name)
        return {v: found[v] for v in self.variables if v in found}

    def _check_shape(self, operand: Operand, given: Tensor, facts: Facts) -> None:
        if given.shape is None or operand.shape is None:
            return
        named = {name for size in operand.shape for name in size.names}
        if any(isinstance(v, Dim) for v in (*given.shape, *(facts[n] for n in named))):
            return  # what only the shapes at run time answer
        want = prod([size.number(facts) for size in operand.shape])
        if prod(given.shape) != want:
            dims = ", ".join(size.text for size in operand.shape)
            raise ValueError(
                f"{self.op}: operand {operand.name!r} has {prod(given.shape)} elements, of the"
                f" shape {list(given.shape)}, but [{dims}] has {want}"
            )


@cache
def contract(op: str) -> Contract:
    """The contract of an operator.

    Raises
    ------
    ValueError
        When there is no such operator, or its header is not as the grammar wants it.
    """
    text = header_text(f"op/{op}.h")
    if text is None:
        raise ValueError(f"there is no operator {op!r}: it has no header op/{op}.h")
    return parse(op, text)


def operators() -> tuple[str, ...]:
    """The operators that have a header."""
    return tuple(sorted(path.stem for path in OP_DIR.glob("*.h")))


def codes(op: str) -> dict[str, int]:
    """The codes of an operator without its name: ``codes("reduce")["MAX"]``."""
    prefix = f"{op.upper()}_"
    rows = contract(op).codes.items()
    return {name.removeprefix(prefix): code for name, code in rows if name.startswith(prefix)}


@cache
def activation_codes() -> Mapping[str, int]:
    """The codes of ``megcc_act_codes.h`` without their prefix: ``activation_codes()["RELU"]``."""
    return _codes_of("megcc_act_codes.h", "MEGCC_ACT_")


@cache
def quantised_codes() -> Mapping[str, int]:
    """The codes of ``megcc_quant_codes.h``, forms of a result: ``quantised_codes()["REAL"]``."""
    return _codes_of("megcc_quant_codes.h", "MEGCC_QUANT_")


def _codes_of(header: str, prefix: str) -> dict[str, int]:
    found = constants.of_text(f'#include "{header}"\n')
    return {n.removeprefix(prefix): code for n, code in found.items() if n.startswith(prefix)}


def parse(op: str, text: str) -> Contract:
    """Read an operator's header; see `contract`."""
    head, *lines = text.splitlines()
    summary = re.fullmatch(rf"// op {op}: (.*)", head)
    if not summary:
        raise ValueError(f"op/{op}.h: the first line must be `// op {op}: ...`")
    attributes = _attributes(op, text)
    found = constants.of_text(text)
    facts: dict[str, tuple[int, ...]] = dict.fromkeys(attributes, ())
    tensors: dict[str, list[Operand]] = {"in": [], "out": []}
    for line in lines:
        match = _LINE.fullmatch(line)
        if not match:
            if re.match(r"//   (in|out|fact)\b", line):
                raise ValueError(f"op/{op}.h: {line!r} is not `// in|out|fact name: ...`")
            continue
        kind, name, rest = match.groups()
        if kind == "fact":
            facts[name] = tuple(sorted({*facts.get(name, ()), *_values(op, name, rest, found)}))
        else:
            tensors[kind] += _tensors(op, name, rest)
    made = Contract(
        op, summary[1], tuple(tensors["in"]), tuple(tensors["out"]), attributes, facts, found
    )
    _check_names(made)
    return made


def _attributes(op: str, text: str) -> tuple[str, ...]:
    """The names of the header's enum without prefix and end mark, in lower case.

    ``PAD_D7 = PAD_D0 + 7`` behind ``PAD_D0`` stands for `PAD_D1` to `PAD_D7`.
    """
    body = re.search(r"enum\s*\{(.*?)\}", text, re.S)
    prefix = op.upper() + "_"
    inside = re.sub(r"//[^\n]*", "", body[1]) if body else ""
    names: list[str] = []
    for name, first, more in re.findall(r"^\s*(\w+)(?:\s*=\s*(\w+)\s*\+\s*(\d+))?", inside, re.M):
        stem = name.removesuffix(more)
        if more and (names[-1:] != [first] or first != f"{stem}0"):
            raise ValueError(f"op/{op}.h: {name} is {more} places behind {first}, not {stem}0")
        names += [f"{stem}{k}" for k in range(1, int(more) + 1)] if more else [name]
    bad = [n for n in names if not n.startswith(prefix)]
    if not names or names[-1] != prefix + "ATTRS" or bad:
        raise ValueError(
            f"op/{op}.h: one enum of {prefix}... that ends with {prefix}ATTRS is needed"
        )
    return tuple(n[len(prefix) :].lower() for n in names[:-1])


def _tensors(op: str, name: str, rest: str) -> list[Operand]:
    """An operand, or those of ``x0..x15``, in whose text ``#`` is the number."""
    match = _TENSOR.fullmatch(rest)
    if not match or not (match[1] in _NAMES or re.fullmatch("[A-Z]", match[1])):
        raise ValueError(
            f"op/{op}.h: {name}: {rest!r} is not a type, or a capital letter for one, and [sizes]"
            " if condition"
        )
    run = _RUN.fullmatch(name)
    numbers = range(int(run[2]), int(run[3]) + 1) if run else (None,)
    made = []
    for number in numbers:
        parts = ["" if p is None else p.replace("#", str(number)) for p in match.groups()]
        shape = None if match[2] is None else tuple(map(Expression, _split(parts[1])))
        there = Expression(parts[2] or "1")
        made.append(Operand(f"{run[1]}{number}" if run else name, parts[0], shape, there))
    return made


def _split(text: str) -> list[str]:
    """Sizes at the commas outside parentheses, ``d0..d7`` written out."""
    sizes = [s.strip() for s in re.split(r",(?![^(]*\))", text) if s.strip()]
    found: list[str] = []
    for size in sizes:
        run = _RUN.fullmatch(size)
        found += [f"{run[1]}{i}" for i in range(int(run[2]), int(run[3]) + 1)] if run else [size]
    return found


def _values(op: str, name: str, text: str, found: Mapping[str, int]) -> tuple[int, ...]:
    """The values of a fact: numbers, codes, and ``PREFIX_*`` for all codes of a prefix."""
    values: list[int] = []
    for word in text.split():
        prefix = word.removesuffix("*")
        if word.isdigit():
            values.append(int(word))
        elif prefix != word and any(n.startswith(prefix) for n in found):
            values += [code for n, code in found.items() if n.startswith(prefix)]
        elif word in found:
            values.append(found[word])
        else:
            raise ValueError(f"op/{op}.h: fact {name}: {word} is no number and no code of C")
    return tuple(values)


def _check_names(made: Contract) -> None:
    if not made.inputs or not made.outputs:
        raise ValueError(f"op/{made.op}.h: an `in` and an `out` line are needed")
    for operand in made.operands:
        for expression in (operand.there, *(operand.shape or ())):
            for name in expression.names - made.names:
                raise ValueError(
                    f"op/{made.op}.h: {operand.name}: {name!r} is neither an attribute nor a fact"
                )
