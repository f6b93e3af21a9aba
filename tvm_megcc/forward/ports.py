"""Ports in the caller's memory: inputs are read where the caller has them, outputs written there.

An output that is a part of a larger storage, or a second name of one, stays in the arena; the VM
then shows or copies it. So does one whose size depends on data, as the caller cannot know it, and a
port with a part at an offset that follows from the shapes, as the VM computes addresses only in the
arena. The input of a state pair is always the caller's memory; see `states` for its output.
"""

from __future__ import annotations

from tvm_megcc.core.program import Location, Port, Program, waits_for_data
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.forward.merging import Storages
from tvm_megcc.forward.states import is_in_place


def caller_ports(program: Program, io: str = "caller") -> Program:
    """Move the storages of ports out of the arena; with io ``arena`` those of state pairs only."""
    storages = Storages(program)
    paired = dict(program.states)
    outputs = {b: is_in_place(program, storages, (a, b)) for a, b in program.states}
    for index, port in enumerate(program.inputs):
        storage = storages.storage(port.tensor)
        if storage is None or (io == "arena" and index not in paired):
            continue
        if _has_fixed_offsets(storages, storage):
            storages.move(storage, Location("input", index))
        elif index in paired:
            raise UnsupportedError(
                f"--state: the model reads parts of '{port.name}' at places that follow from the"
                " shapes; fix the model's dims with --input-shapes"
            )
    for index, port in enumerate(program.outputs):
        if outputs.get(index, io != "arena") and _owns_its_storage(storages, port):
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
