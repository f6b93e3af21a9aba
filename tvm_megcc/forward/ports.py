"""Ports in the caller's memory: inputs are read where the caller has them, outputs written there.

An output that is a part of a larger storage, or a second name of one, stays in the arena; the VM
then shows or copies it. So does one whose size depends on data, as the caller cannot know it, and a
port with a part at an offset that follows from the shapes, as the VM computes addresses only in the
arena.
"""

from __future__ import annotations

from tvm_megcc.core.program import Location, Port, Program, waits_for_data
from tvm_megcc.forward.merging import Storages


def caller_ports(program: Program) -> Program:
    """Move the storages of ports out of the arena."""
    storages = Storages(program)
    for index, port in enumerate(program.inputs):
        storage = storages.storage(port.tensor)
        if storage is not None and _has_fixed_offsets(storages, storage):
            storages.move(storage, Location("input", index))
    for index, port in enumerate(program.outputs):
        if _owns_its_storage(storages, port):
            storage = storages.storage(port.tensor)
            assert storage is not None
            storages.move(storage, Location("output", index))
    return storages.result()


def _owns_its_storage(storages: Storages, port: Port) -> bool:
    storage, tensor = storages.storage(port.tensor), storages.tensors[port.tensor]
    whole = storage is not None and storages.size(storage) == tensor.nbytes
    if waits_for_data(storages.program, tensor):
        return False
    if storage is not None and not _has_fixed_offsets(storages, storage):
        return False
    return whole and tensor.location.offset == 0


def _has_fixed_offsets(storages: Storages, storage: int) -> bool:
    members = (storages.tensors[t] for t in storages.members[storage])
    return all(isinstance(t.location.offset, int) for t in members)
