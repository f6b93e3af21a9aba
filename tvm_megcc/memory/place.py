"""``Program -> Program``: give every storage of the arena its offset.

Liveness runs over calls: a storage is live from the call that first touches it to the last call that
reads it; a port that lives in the arena is live from the start (inputs) or to the end (outputs).
"""

from __future__ import annotations

from dataclasses import replace

from tvm_megcc.memory.portfolio import plan
from tvm_megcc.memory.problem import Interval, Problem
from tvm_megcc.program import Location, Program


def problem_of(program: Program) -> tuple[Problem, tuple[int, ...]]:
    """The planning problem of a program, and the storage id of each of its intervals."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    size: dict[int, int] = {}
    label: dict[int, str] = {}
    end = len(program.calls)

    def touch(tensor_id: int, step: int, until: int) -> None:
        tensor = program.tensors[tensor_id]
        if tensor.location.space != "arena":
            return
        storage = tensor.location.index
        first[storage] = min(first.get(storage, step), step)
        last[storage] = max(last.get(storage, until), until)
        size[storage] = max(size.get(storage, 0), tensor.location.offset + tensor.nbytes)
        label.setdefault(storage, tensor.name)

    for port in program.inputs:
        touch(port.tensor, 0, 1)
    for step, call in enumerate(program.calls):
        for tensor_id in call.operands:
            touch(tensor_id, step, step + 1)
        if call.workspace is not None:
            touch(call.workspace, step, step + 1)
    for port in program.outputs:
        touch(port.tensor, end, end + 1)
    storages = tuple(sorted(first))
    intervals = (Interval(label[s], first[s], last[s], size[s]) for s in storages)
    return Problem(tuple(intervals)), storages


def place(program: Program) -> Program:
    """`program` with ``arena_bytes`` set and every arena location at its planned offset."""
    problem, storages = problem_of(program)
    solution = plan(problem)
    base = dict(zip(storages, solution.offsets, strict=True))
    tensors = tuple(
        replace(t, location=Location("arena", 0, base.get(t.location.index, 0) + t.location.offset))
        if t.location.space == "arena"
        else t
        for t in program.tensors
    )
    return replace(program, tensors=tensors, arena_bytes=solution.arena_bytes)
