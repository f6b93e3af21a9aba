"""Branches and loops of a program, and the steps during which storages are live."""

from __future__ import annotations

from collections.abc import Iterator

from tvm_megcc.core.program.program import Program
from tvm_megcc.core.program.steps import Call, Else, End, If, Loop, Slide, operands_of


def regions(program: Program) -> dict[int, int]:
    """The step with which each `If`, `Else` and `Loop` ends: the `Else`, or the `End`."""
    open_steps: list[int] = []
    found: dict[int, int] = {}
    for number, step in enumerate(program.calls):
        if isinstance(step, Else | End):
            found[open_steps.pop()] = number
        if isinstance(step, If | Else | Loop):
            open_steps.append(number)
    assert not open_steps, "an If or a Loop does not end"
    return found


def loops(program: Program) -> list[tuple[int, int]]:
    """First and last step of each loop, inner ones first."""
    ends = regions(program)
    found = [(n, ends[n]) for n, step in enumerate(program.calls) if isinstance(step, Loop)]
    return sorted(found, key=lambda loop: loop[1] - loop[0])


def live_steps(program: Program) -> dict[int, tuple[int, int]]:
    """First and last step during which each storage of the arena is live, but for what ports need.

    What is used both in a loop and outside of it, a port's storage and a line buffer too, is live
    during the whole loop: the next iteration finds in it what this one has left.
    """
    found: dict[int, tuple[int, int]] = {}
    for number, step in enumerate(program.calls):
        for tensor in operands_of(step):
            at = program.tensors[tensor].location
            if at.space == "arena":
                first, _ = found.get(at.index, (number, number))
                found[at.index] = first, number
    around = loops(program)
    if around:
        ports = {program.tensors[p.tensor].location for p in (*program.inputs, *program.outputs)}
        outside = {at.index for at in ports if at.space == "arena"}
        outside |= {program.tensors[t].location.index for t in _handed_on(program)}
        found = {s: _around(span, around, s in outside) for s, span in found.items()}
    return found


def _handed_on(program: Program) -> Iterator[int]:
    """Tensors whose rows the next iteration of a loop over bands finds again.

    Those whose rows are moved, those that have room for all rows of their image, and those that a
    call reads and writes: what it has added up so far.
    """
    for step in program.calls:
        if isinstance(step, Slide):
            yield step.tensor
        elif isinstance(step, Call) and step.rows is not None:
            yield from (step.operands[b.operand] for b in step.rows.operands if b.base.step == 0)
            yield from set(step.reads) & set(step.writes)


def _around(span: tuple[int, int], found: list[tuple[int, int]], is_port: bool) -> tuple[int, int]:
    first, last = span
    for begin, end in found:
        if begin < first and last < end and not is_port:
            continue  # of one iteration
        if first <= end and last >= begin:
            first, last = min(first, begin), max(last, end)
    return first, last
