"""The VM's instructions: their numbers, and the steps of a program as instructions in order.

The numbers come from ``runtime/src/megcc_opcodes.def``, the same lines the C enum is made from.

Example
-------
>>> [opcodes()[name] for name in ("END", "CALL", "COPY", "BAND")]
[0, 1, 2, 11]
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from tvm_megcc.codegen_c.emit.scalars import is_sized, slides_by_sizes
from tvm_megcc.codegen_c.sources import runtime_text
from tvm_megcc.core.program import (
    ALIGNMENT,
    Call,
    Check,
    Copy,
    Draw,
    Else,
    End,
    Feed,
    If,
    Let,
    Load,
    Location,
    Loop,
    Program,
    Slide,
    Step,
    Storage,
    Store,
    Tensor,
    waits_for_data,
)


@lru_cache(maxsize=1)
def opcodes() -> dict[str, int]:
    """Numbers of the VM's instructions by name."""
    return {name: number for name, (number, _) in _opcode_table().items()}


def handler(opcode: str) -> str | None:
    """C name of the handler of ``opcode`` (and of its source file), None when it needs none."""
    name = _opcode_table()[opcode][1]
    return None if name == "-" else name


@lru_cache(maxsize=1)
def _opcode_table() -> dict[str, tuple[int, str]]:
    row = re.compile(r"^MEGCC_OPCODE\((\d+), (\w+), ([\w-]+)\)$", re.MULTILINE)
    text = runtime_text("src/megcc_opcodes.def")
    return {name: (int(number), c_name) for number, name, c_name in row.findall(text)}


@dataclass(frozen=True, slots=True)
class Code:
    """A program whose every output has its own memory, and its instructions in order.

    ``calls`` are the program's own steps; ``first`` and ``last`` are copied around them.
    """

    program: Program
    first: tuple[Copy, ...]
    last: tuple[Copy, ...]

    @property
    def instructions(self) -> tuple[Step, ...]:
        return (*self.first, *self.program.calls, *self.last)

    @property
    def opcodes(self) -> tuple[str, ...]:
        used = {name for i in self.instructions if (name := opcode_of(i))} | {"END"}
        if any(isinstance(i, Loop) for i in self.instructions):
            used.add("JUMP")  # what its end becomes
        return tuple(sorted(used, key=lambda name: opcodes()[name]))


#: The instruction that a step becomes, but for copies, slides and calls, which have several.
_OPCODES: dict[type, str | None] = {
    Load: "LOAD",
    Let: "LET",
    Check: "CHECK",
    Draw: "DRAW",
    Store: "STORE",
    Feed: "FEED",
    If: "BRANCH",
    Loop: "BRANCH",
    Else: "JUMP",
    End: None,
}


def opcode_of(step: Step) -> str | None:
    """Name of the instruction that a step becomes; None for the end of an If, which is none."""
    if isinstance(step, Copy):
        return "COPY" if step.row is None else "ROW"
    if isinstance(step, Slide):
        return "SLIDE_SIZED" if slides_by_sizes(step) else "SLIDE"
    if isinstance(step, Call) and step.rows is not None:
        return "BAND_SIZED" if is_sized(step) else "BAND"
    if isinstance(step, Call):
        return "CALL_SIZED" if is_sized(step) else "CALL"
    return _OPCODES[type(step)]


def _overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of the arena may share bytes."""
    one, two = a.location, b.location
    if one.space == "block":  # for which sizes they do, only the sizes say
        return one.index == two.index
    return (
        one.index == two.index
        and one.offset < two.offset + b.nbytes
        and two.offset < one.offset + a.nbytes
    )


def own_outputs(program: Program) -> Code:
    """Give every output port memory of its own, adding COPY where its value lives elsewhere.

    An output whose tensor is ``("output", k)`` is written in place; one in the arena is read from
    there. Everything else is copied to the port's own buffer: a weight, an input passed straight
    through, another port's tensor or a view of it, arena bytes that another output already shows.
    Where the size depends on data the caller has no buffer: then to a block of its own.
    """
    tensors = list(program.tensors)
    storages = list(program.storages)
    ports = list(program.outputs)
    input_tensors = {p.tensor for p in program.inputs}
    kept = {b: program.inputs[a].tensor for a, b in program.states}
    shown: list[Tensor] = []
    first: list[Copy] = []
    last: list[Copy] = []
    for k, port in enumerate(program.outputs):
        t = tensors[port.tensor]
        if t.location == Location("output", k):
            continue
        if t.location.space in ("arena", "block") and port.tensor not in input_tensors:
            if not any(_overlap(t, other) for other in shown):
                shown.append(t)
                continue
        copy = Copy(len(tensors), port.tensor)
        # An input in the arena may be overwritten by the program; at the start it is there.
        if kept.get(k) != port.tensor:  # else the state does not change
            (first if port.tensor in input_tensors else last).append(copy)
        where = Location("output", k)
        if waits_for_data(program, t):
            where = Location("block", len(storages))
            end = len(program.calls)
            storages.append(Storage(port.name, ALIGNMENT, (), end, end + 1, dynamic=True))
        tensors.append(Tensor(port.name, t.dtype, t.shape, where))
        ports[k] = replace(port, tensor=copy.target)
    changed = replace(
        program, tensors=tuple(tensors), outputs=tuple(ports), storages=tuple(storages)
    )
    return Code(changed, tuple(first), tuple(last))
