"""Removal of copies: a value is computed where a copy would put it.

Results of an If's branches and states of a loop are copied to their tensors. Where the value dies
with the copy, and nothing uses the tensor between the computation and the copy, it is computed
there.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_megcc.core.program import Call, Copy, Else, End, If, Loop, Program, operands_of
from tvm_megcc.forward.merging import Storages


def elide_copies(program: Program) -> Program:
    """Remove copies of values that can be computed at the copy's target."""
    copies = [n for n, s in enumerate(program.calls) if isinstance(s, Copy) and s.row is None]
    if not copies:
        return program
    storages = Storages(program)
    around = _regions(program)
    gone = {step for step in copies if _merge(storages, step, around)}
    calls = tuple(step for n, step in enumerate(program.calls) if n not in gone)
    return replace(storages.result(), calls=calls)


def _regions(program: Program) -> list[int]:
    """For each step the number of the innermost If, Else or Loop around it, else -1."""
    found: list[int] = []
    stack = [-1]
    for number, step in enumerate(program.calls):
        if isinstance(step, Else | End):
            stack.pop()
        found.append(stack[-1])
        if isinstance(step, If | Else | Loop):
            stack.append(number)
    return found


def _merge(storages: Storages, step: int, around: list[int]) -> bool:
    """Merge the storage of a copy's source into that of its target, if that is sound."""
    copy = storages.program.calls[step]
    assert isinstance(copy, Copy)
    source, target = storages.storage(copy.source), storages.storage(copy.target)
    if source is None or target is None or source == target:
        return False
    dying = storages.usage[source]
    if dying.last != step or dying.is_input or dying.is_output:
        return False
    if around[dying.first] != around[step]:
        return False
    size = storages.tensors[copy.target].nbytes
    for tensor, storage in ((copy.source, source), (copy.target, target)):
        if storages.tensors[tensor].location.offset != 0 or storages.size(storage) != size:
            return False
    for number in range(dying.first, step):
        if _uses(storages, number, target) and not (
            number == dying.first and _works_in_place(storages, number, source, target)
        ):
            return False
    storages.merge(source, target, 0)
    return True


def _uses(storages: Storages, step: int, storage: int) -> bool:
    touched = operands_of(storages.program.calls[step])
    return any(storages.storage(tensor) == storage for tensor in touched)


def _works_in_place(storages: Storages, step: int, source: int, target: int) -> bool:
    """Whether the step that computes `source` may do so over `target`, which it reads."""
    call = storages.program.calls[step]
    if not isinstance(call, Call) or call.n_outputs != 1:
        return False
    *reads, output = call.operands
    if storages.storage(output) != source or storages.tensors[output].location.offset != 0:
        return False
    allowed = storages.program.kernels[call.kernel].inplace
    written = storages.tensors[output].nbytes
    for position, tensor in enumerate(reads):
        if storages.storage(tensor) != target:
            continue
        read = storages.tensors[tensor]
        if position not in allowed or read.location.offset != 0 or read.nbytes != written:
            return False
    return call.workspace is None or storages.storage(call.workspace) != target
