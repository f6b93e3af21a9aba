"""State pairs: an output that is written into the memory of an input.

The memory is the caller's and holds the old value when a run begins. So whatever reads the input
comes before the call that writes the output, or is that call, if its kernel works in place.
Elsewhere the output stays in the arena, and the VM copies it when the run ends.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_megcc.core.program import (
    Call,
    Copy,
    Location,
    Program,
    Step,
    Tensor,
    ends_of,
    waits_for_data,
)
from tvm_megcc.errors import InputError
from tvm_megcc.forward.merging import Storages


def check_states(program: Program) -> None:
    """Raise InputError for a pair of ports of other types, or whose dims may differ."""
    for a, b in program.states:
        given, made = program.inputs[a], program.outputs[b]
        one, two = program.tensors[given.tensor], program.tensors[made.tensor]
        if (one.dtype, one.shape) != (two.dtype, two.shape):
            dims = (f"{t.dtype}[{', '.join(map(str, t.shape))}]" for t in (one, two))
            raise InputError(
                "--state '{}={}': the input is {}, the output {}; they need one type and equal"
                " dims".format(given.name, made.name, *dims)
            )
        if waits_for_data(program, two):
            raise InputError(
                f"--state '{given.name}={made.name}': the output's size depends on data; leave the"
                " pair out"
            )


def is_in_place(program: Program, storages: Storages, pair: tuple[int, int]) -> bool:
    """Whether the output of a pair may be written into the input's memory as the calls stand."""
    given, made = program.inputs[pair[0]].tensor, program.outputs[pair[1]].tensor
    source, target = storages.storage(given), storages.storage(made)
    if target is None or source == target:
        return False
    if source is None:
        return True
    old, new = storages.usage[source], storages.usage[target]
    if new.is_input or old.is_output:
        return False
    if old.last != new.first:
        return old.last < new.first
    call = program.calls[new.first]
    if not _touches(storages, call, source):  # nothing reads the input
        return True
    return isinstance(call, Call) and _works_in_place(storages, call, source, target)


def _touches(storages: Storages, step: Step, storage: int) -> bool:
    return any(storages.storage(t) == storage for t in ends_of(step)[0])


def _works_in_place(storages: Storages, call: Call, source: int, target: int) -> bool:
    """Whether the kernel may write `target` over `source`, which it reads."""
    if call.n_outputs != 1:
        return False
    (output,) = call.writes
    written = storages.tensors[output]
    if storages.storage(output) != target or written.location.offset != 0:
        return False
    allowed = storages.program.kernels[call.kernel].inplace
    for position, tensor in enumerate(call.reads):
        if storages.storage(tensor) != source:
            continue
        read = storages.tensors[tensor]
        if position not in allowed or read.location.offset != 0 or read.nbytes != written.nbytes:
            return False
    return True


def copied_first(program: Program) -> Program:
    """Copy each input that is the output of another pair into the arena before all calls.

    As in a delay line, whose second state is the first one's old value. The VM stores the copies
    when the run ends.
    """
    owned = {program.inputs[k].tensor for k in range(len(program.inputs))}
    tensors, outputs = list(program.tensors), list(program.outputs)
    copies: list[Copy] = []
    storage = max((t.location.index for t in tensors if t.location.space == "arena"), default=-1)
    for a, b in program.states:
        port = outputs[b]
        if port.tensor not in owned or port.tensor == program.inputs[a].tensor:
            continue
        storage += 1
        value = tensors[port.tensor]
        copies.append(Copy(len(tensors), port.tensor, name=port.name))
        outputs[b] = replace(port, tensor=len(tensors))
        tensors.append(Tensor(port.name, value.dtype, value.shape, Location("arena", storage)))
    if not copies:
        return program
    return replace(
        program,
        tensors=tuple(tensors),
        outputs=tuple(outputs),
        calls=(*copies, *program.calls),
    )
