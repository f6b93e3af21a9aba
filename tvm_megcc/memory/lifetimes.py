"""The planning problem of a `Program`: the calls during which each storage is live.

Liveness runs over calls: a storage is live from the call that first touches it to the last call
that reads it. A port that lives in the arena is live longer: an input from the start of a run to
its end (to its last read if it may be clobbered), an output from its first write to the end.
"""

from __future__ import annotations

from tvm_megcc.core.program import (
    Program,
    live_parts,
    live_steps,
    operands_of,
    shared_by_loops,
    touches,
)
from tvm_megcc.memory.block import Gap, Interval
from tvm_megcc.memory.problem import Problem


def problem_of(program: Program, clobber_inputs: bool = False) -> tuple[Problem, tuple[int, ...]]:
    """The planning problem of a program without symbols, and the storage id of each interval.

    Steps are numbers of calls; a program without calls has one step, that of its ports.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    size: dict[int, int] = {}
    label: dict[int, str] = {}
    end = max(len(program.calls), 1)

    def touch(tensor_id: int, step: int, until: int) -> None:
        tensor = program.tensors[tensor_id]
        if tensor.location.space != "arena":
            return
        storage = tensor.location.index
        first[storage] = min(first.get(storage, step), step)
        last[storage] = max(last.get(storage, until), until)
        end_of = int(tensor.location.offset + tensor.nbytes)  # type: ignore[arg-type]
        size[storage] = max(size.get(storage, 0), end_of)
        label.setdefault(storage, tensor.name)

    for port in program.inputs:
        touch(port.tensor, 0, 1 if clobber_inputs else end)
    live = live_steps(program)
    for call in program.calls:
        for tensor_id in operands_of(call):
            begin, done = live.get(program.tensors[tensor_id].location.index, (0, 0))
            touch(tensor_id, begin, done + 1)
    for port in program.outputs:
        touch(port.tensor, end - 1, end)
    storages = tuple(sorted(first))
    gaps = _gaps(program)
    intervals = (
        Interval(label[s], first[s], last[s], size[s], gaps=gaps.get(s, ())) for s in storages
    )
    return Problem(tuple(intervals)), storages


def _gaps(program: Program) -> dict[int, tuple[Gap, ...]]:
    """Parts of storages that are not live, where a loop's result lies over an image it reads."""
    ports = {program.tensors[p.tensor].location for p in (*program.inputs, *program.outputs)}
    held = {at.index for at in ports if at.space == "arena"}
    storages = shared_by_loops(program, program.tensors) - held
    if not storages:
        return {}
    live, touched = live_steps(program), touches(program)
    members: dict[int, list[int]] = {}
    for number, tensor in enumerate(program.tensors):
        if tensor.location.space == "arena":
            members.setdefault(tensor.location.index, []).append(number)
    found = {s: live_parts(program.tensors, members[s], touched, live[s]) for s in storages}
    return {s: tuple(Gap(p.first, p.last, (p.lo, p.hi)) for p in found[s]) for s in found}
