"""In place: an output takes the memory of an input that dies in the same call.

Only where the kernel allows it (``inplace`` in its header comment, or found in a generated kernel):
it reads each part of the input before it overwrites the part.
"""

from __future__ import annotations

from tvm_megcc.core.program import Call, Program, waits_for_data
from tvm_megcc.forward.merging import Storages


def run_in_place(program: Program) -> Program:
    """Place outputs in the memory of inputs that die in the same call."""
    storages = Storages(program)
    for step, call in enumerate(program.calls):
        if not isinstance(call, Call):
            continue
        for operand in program.kernels[call.kernel].inplace:
            if _forward(storages, step, call, operand):
                break
    return storages.result()


def _forward(storages: Storages, step: int, call: Call, operand: int) -> bool:
    """Merge the call's output into the storage of its input `operand`, if that is sound."""
    reads = call.reads
    if call.n_outputs != 1 or operand >= len(reads):
        return False
    (output,) = call.writes
    source, target = storages.storage(reads[operand]), storages.storage(output)
    if source is None or target is None or source == target:
        return False
    read, written = storages.tensors[reads[operand]], storages.tensors[output]
    dying = storages.usage[source]
    if dying.last != step or dying.is_input or dying.is_output:
        return False
    if read.nbytes != written.nbytes or written.location.offset != 0:
        return False
    if storages.size(source) != read.nbytes and not waits_for_data(storages.program, written):
        return False  # a part of a larger storage would keep all of it
    if storages.size(target) != written.nbytes or storages.usage[target].first != step:
        return False
    allowed = storages.program.kernels[call.kernel].inplace
    for position, other in enumerate(reads):
        # The same elements at the same place; the first rows alone are read again for all others.
        tensor = storages.tensors[other]
        here = tensor.location == read.location and tensor.nbytes == read.nbytes
        if storages.storage(other) == source and not (here and position in allowed):
            return False
    storages.merge(target, source, read.location.offset)
    return True
