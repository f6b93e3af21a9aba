"""Programs as TVM's graph executor has them: its JSON, and the constants by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.dtypes import numpy_dtype, of
from tvm_megcc.core.program import Bundle, Call, Location, Program, programs_of
from tvm_megcc.dims import Size, is_static
from tvm_megcc.errors import InputError


def graph_json(program: Program) -> dict[str, Any]:
    """A program as the graph executor's JSON.

    Nodes are inputs, then weights in use, then calls; an entry is ``[node, output, 0]``. A tensor's
    ``storage_id`` counts the inputs, outputs, weights and arena offsets there are. Raises
    InputError for what such a graph cannot express: sizes that change, branches or loops.
    """
    if not all(is_static(tensor.shape) for tensor in program.tensors):
        raise InputError(
            f"model '{program.name}': a graph has no sizes that change; build it with fixed shapes,"
            " or use the package"
        )
    calls = [step for step in program.calls if isinstance(step, Call)]
    for step in program.calls:
        if not isinstance(step, Call):
            raise InputError(
                f"model '{program.name}': a graph has no branches, loops, checks of data and random"
                f" numbers, and '{step.name}' is one of them; use the package"
            )
    nodes: list[dict[str, Any]] = []
    entry: dict[int, list[int]] = {}
    tensors: list[int] = []  # by entry, in the order of nodes and their outputs
    row_ptr = [0]

    def add(node: dict[str, Any], outputs: list[int]) -> None:
        for k, tensor in enumerate(outputs):
            entry[tensor] = [len(nodes), k, 0]
        nodes.append(node)
        tensors.extend(outputs)
        row_ptr.append(len(tensors))

    def add_null(name: str, tensor: int) -> None:
        if tensor not in entry:
            add({"op": "null", "name": name, "inputs": []}, [tensor])

    for port in program.inputs:
        add_null(port.name, port.tensor)
    for call in calls:
        for tensor in call.reads:
            if program.tensors[tensor].location.space == "weight":
                add_null(program.tensors[tensor].name, tensor)
    arg_nodes = list(range(len(nodes)))
    for number, call in enumerate(calls):
        add(
            {
                "op": "tvm_op",
                "name": call.name or f"call_{number}",
                "attrs": {
                    "func_name": program.kernels[call.kernel].symbol,
                    "num_inputs": str(len(call.reads)),
                    "num_outputs": str(call.n_outputs),
                    "flatten_data": "0",
                },
                "inputs": [_source(program, entry, t) for t in call.reads],
            },
            list(call.writes),
        )
    for port in program.outputs:
        if program.tensors[port.tensor].location.space == "weight":
            add_null(port.name, port.tensor)
    places = sorted({_place(program, t) for t in tensors})
    return {
        "nodes": nodes,
        "arg_nodes": arg_nodes,
        "heads": [_source(program, entry, port.tensor) for port in program.outputs],
        "node_row_ptr": row_ptr,
        "attrs": {
            "dltype": ["list_str", [of(program.tensors[t].dtype).numpy for t in tensors]],
            "shape": ["list_shape", [list(program.tensors[t].shape) for t in tensors]],
            "storage_id": ["list_int", [places.index(_place(program, t)) for t in tensors]],
        },
    }


def _place(program: Program, tensor: int) -> tuple[str, int, Size]:
    location = program.tensors[tensor].location
    return (location.space, location.index, location.offset)


def _source(program: Program, entry: dict[int, list[int]], tensor: int) -> list[int]:
    """The entry that made a tensor; for a view, the last entry that covers its first byte."""
    if tensor in entry:
        return entry[tensor]
    view = program.tensors[tensor].location
    for made in reversed(entry):
        t = program.tensors[made]
        start = t.location.offset
        same = (t.location.space, t.location.index) == (view.space, view.index)
        if same and start <= view.offset < start + max(t.nbytes, 1):
            return entry[made]
    raise ValueError(f"tensor {program.tensors[tensor].name!r} is read before it is written")


def constants(compiled: Program | Bundle) -> dict[str, np.ndarray]:
    """The constants as the kernels read them (packed), by name; each once."""
    found: dict[str, np.ndarray] = {}
    seen: set[Bytes] = set()
    for program in programs_of(compiled):
        for index, weight in enumerate(program.weights):
            if weight.data not in seen:
                seen.add(weight.data)
                name = weight.name if weight.name not in found else f"{weight.name}.{index}"
                found[name] = _array(program, index)
    return found


def _array(program: Program, index: int) -> np.ndarray:
    """A weight as the tensor that first shows all of it."""
    data = program.weights[index].data
    for t in program.tensors:
        if t.location == Location("weight", index) and t.nbytes == len(data):
            return np.frombuffer(data, numpy_dtype(t.dtype)).reshape(t.shape)  # type: ignore[arg-type]
    return np.frombuffer(data, np.uint8)
