"""Concat without copies: the producers write straight into their part of the result.

The parts must be contiguous in the result (only ones before the axis). Each must be a value of its
own that is not placed elsewhere and does not change: the state of a loop changes while the result
may still be read. The call disappears. As the whole result then lives from the first part on, this
is done only where the peak of live bytes does not rise.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_megcc.core.program import Call, Loop, Program, data_symbols, ends_of, sized, usual_sizes
from tvm_megcc.dims import Size, symbols
from tvm_megcc.forward.merging import Storages

#: Kernel file of the operator, and index of the attribute with the number of rows.
TEMPLATE, OUTER = "concat", 1


def concat_in_place(program: Program, io: str) -> Program:
    """Remove concats whose parts can be computed in place."""
    for call in program.calls:
        if not isinstance(call, Call):
            continue
        if program.kernels[call.kernel].template == TEMPLATE:
            placed = _placed(program, call, io)
            if placed is not None and _fits(program, placed, io):
                program = placed
    return program


def _fits(before: Program, after: Program, io: str) -> bool:
    """Whether the peak does not rise, for usual sizes of symbolic dims."""
    values = usual_sizes(before)[0]
    peak, was = (Storages(sized(program, values)).peak(io) for program in (after, before))
    return peak <= was


def _placed(program: Program, call: Call, io: str) -> Program | None:
    """Remove `call` and merge its operands' storages; None where that is not sound."""
    if call.attrs[OUTER] != 1:
        return None
    storages = Storages(program)
    *parts, output = call.operands
    target = storages.storage(output)
    owners = [storages.storage(p) for p in parts]
    if target is None or None in owners or len(set(owners)) != len(owners):
        return None
    if symbols(storages.tensors[output].nbytes) & data_symbols(program):
        return None  # there is no such block yet when the first part is written
    if _changed_after(storages, call) & set(owners):
        return None
    offset = storages.tensors[output].location.offset
    moves: list[tuple[int, Size]] = []
    for part, owner in zip(parts, owners, strict=True):
        assert owner is not None
        tensor, usage = storages.tensors[part], storages.usage[owner]
        alone = tensor.location.offset == 0 and storages.size(owner) == tensor.nbytes
        if owner == target or not alone or usage.is_input or usage.is_output:
            return None
        moves.append((owner, offset))
        offset = offset + tensor.nbytes
    if io == "caller" and storages.usage[target].is_output:
        # In the caller's buffer a part has no address that follows from the shapes.
        if not all(isinstance(at, int) for _, at in moves):
            return None
    for owner, at in moves:
        storages.merge(owner, target, at)
    calls = tuple(c for c in program.calls if c is not call)
    return replace(storages.result(), calls=calls)


def _changed_after(storages: Storages, call: Call) -> set[int | None]:
    """Storages that are written after `call`, by a later step or as a counter."""
    steps = storages.program.calls
    place = next(number for number, step in enumerate(steps) if step is call)
    counters = [step.counter for step in steps if isinstance(step, Loop)]
    later = [tensor for step in steps[place + 1 :] for tensor in ends_of(step)[1]]
    return {storages.storage(tensor) for tensor in (*counters, *later)}
